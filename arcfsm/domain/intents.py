"""Intents: what a rule wants done in the world, one API call each, in the imperative.

An intent is data. It is journaled with the decision that wants it before anybody carries it out, so it names
everything that the call needs and nothing secret: values of Secrets are read inside the effect and never come back
here. Bodies are documents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.kinds import Kind, StreamId


def create_key(kind: Kind, namespace: str, name: str) -> str:
    """Return the key of a creation."""
    return f"create {kind} {namespace}/{name}"


def delete_key(kind: Kind, namespace: str, name: str) -> str:
    """Return the key of a deletion."""
    return f"delete {kind} {namespace}/{name}"


def births_key(namespace: str, set_name: str, patch_id: int) -> str:
    """Return the key of a scale-up."""
    return f"create runners of {namespace}/{set_name} for patch {patch_id}"


def registration_key(namespace: str, name: str) -> str:
    """Return the key of a runner's registration; its outcome answers `runner_id`."""
    return f"register runner {namespace}/{name}"


def removal_key(runner_id: int) -> str:
    """Return the key of the call that asks the service to let a runner go."""
    return f"{ServiceCall.REMOVE_RUNNER} runner_id={runner_id}"


class _Intent(BaseModel, ABC):
    model_config = ConfigDict(frozen=True, extra="forbid")

    target: StreamId
    """The aggregate that remembers this intent while it is in flight and how it ended."""

    @model_serializer(mode="wrap")
    def _tagged(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The tag tells the reader which intent this is; it is written even where defaults are left out.
        fields: dict[str, Any] = handler(self)
        fields["action"] = getattr(self, "action", "")
        return fields

    @property
    @abstractmethod
    def key(self) -> str:
        """One operation on one object: the same key is never in flight twice."""

    @property
    def written(self) -> str:
        """What is written over what is there, "" for other intents: doing the same twice changes nothing."""
        return ""

    def documents(self) -> Iterator[Digest]:
        """Yield the digests of the documents this intent refers to."""
        return iter(())


class CreateObject(_Intent):
    """Create one object whose name we chose. AlreadyExists with our owner counts as done."""

    action: Literal["create"] = "create"
    kind: Kind
    namespace: str
    name: str
    manifest: Digest

    @property
    def key(self) -> str:
        """One operation on one object."""
        return create_key(self.kind, self.namespace, self.name)

    def documents(self) -> Iterator[Digest]:
        """Yield the manifest."""
        yield self.manifest


class CreateRunners(_Intent):
    """Create `count` runners from one manifest; names follow from decision seq, index and salt (S11, H9)."""

    action: Literal["create-runners"] = "create-runners"
    namespace: str
    set_name: str
    manifest: Digest
    count: int = Field(ge=1)
    patch_id: int
    incarnation: str = ""
    salt: int = 0
    """What keeps the names apart from those of other sets and other journals: `names.runner_salt`."""

    @property
    def key(self) -> str:
        """One scale-up at a time for one wish."""
        return births_key(self.namespace, self.set_name, self.patch_id)

    def documents(self) -> Iterator[Digest]:
        """Yield the manifest."""
        yield self.manifest


class PatchObject(_Intent):
    """Merge-patch an object (RFC 7386): only what changes."""

    action: Literal["patch"] = "patch"
    kind: Kind
    namespace: str
    name: str
    uid: str
    patch: Digest
    subresource: Literal["", "status"] = ""
    resource_version: str = ""
    """Locks the write to this version where set: on a conflict we look again and decide again (H3)."""
    content: Digest = ""
    """What the object should hold afterwards, where a breaker must recognise it should it be wanted again (H17)."""

    @property
    def key(self) -> str:
        """One operation on one object."""
        part = f"/{self.subresource}" if self.subresource else ""
        return f"patch {self.kind}{part} {self.namespace}/{self.name}"

    @property
    def written(self) -> str:
        """The patch."""
        return self.patch

    def documents(self) -> Iterator[Digest]:
        """Yield the patch, and the content where it is kept."""
        yield self.patch
        if self.content:
            yield self.content


class DeleteObject(_Intent):
    """Delete one object, never its successor of the same name (H33)."""

    action: Literal["delete"] = "delete"
    kind: Kind
    namespace: str
    name: str
    uid: str
    grace_period_s: int | None = None

    @property
    def key(self) -> str:
        """One operation on one object."""
        return delete_key(self.kind, self.namespace, self.name)

    @property
    def written(self) -> str:
        """The object, and how fast it is to go."""
        return f"{self.uid} {self.grace_period_s}"


class ReadObject(_Intent):
    """Read one object from the API server itself, past any cache; the answer arrives as an observation (R4, Z1)."""

    action: Literal["read"] = "read"
    kind: Kind
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """One operation on one object."""
        return f"read {self.kind} {self.namespace}/{self.name}"


class DeleteLabelled(_Intent):
    """Delete every object of a kind in a namespace that carries a label: what container hooks left behind (R6)."""

    action: Literal["delete-labelled"] = "delete-labelled"
    kind: Kind
    namespace: str
    label: str
    value: str

    @property
    def key(self) -> str:
        """One operation on one selection."""
        return f"delete {self.kind} {self.namespace}/{self.label}={self.value}"


class SecretRecipe(StrEnum):
    """Secrets that are composed inside the effect, because their values may not pass through here."""

    LISTENER_CONFIG = "listener-config"
    LISTENER_PROXY = "listener-proxy"
    RUNNER_PROXY = "runner-proxy"


class WriteSecret(_Intent):
    """Bring a Secret to what its recipe says: create it, or patch what differs (L8, L10, S5).

    What is there by meaning already is not written (H19). The outcome answers `resource_version` and nothing else of
    it; INVALID says that the values can't be composed.
    """

    action: Literal["write-secret"] = "write-secret"
    recipe: SecretRecipe
    namespace: str
    name: str
    manifest: Digest
    """Metadata without data."""
    inputs: Digest = ""
    """What the values are composed of, as far as it may be told: documents and versions. Another one means to write
    again; "" where nobody keeps account (H16)."""

    @property
    def key(self) -> str:
        """One operation on one object."""
        return f"write Secret {self.namespace}/{self.name}"

    @property
    def written(self) -> str:
        """The inputs where they are told, else the metadata; the values are composed anew each time."""
        return self.inputs or self.manifest

    def documents(self) -> Iterator[Digest]:
        """Yield the manifest, and the inputs where they are told."""
        yield self.manifest
        if self.inputs:
            yield self.inputs


class RegisterRunner(_Intent):
    """Ask the service for a just-in-time configuration and keep it in the runner's Secret, in one effect (R10, H22)."""

    action: Literal["register-runner"] = "register-runner"
    namespace: str
    name: str
    scale_set_id: int
    work_folder: str = ""
    manifest: Digest
    """The Secret's metadata without data."""

    @property
    def key(self) -> str:
        """One registration at a time for one runner."""
        return registration_key(self.namespace, self.name)

    def documents(self) -> Iterator[Digest]:
        """Yield the manifest."""
        yield self.manifest


class ServiceCall(StrEnum):
    """Operations of the Actions service that rules ask for (X3)."""

    REGISTER_SCALE_SET = "register-scale-set"
    """Find the scale set by group and name, or create it (A8). Answers `id`, `name` and `group`."""
    GET_SCALE_SET = "get-scale-set"
    """Look a scale set up by its id (A17)."""
    UPDATE_SCALE_SET = "update-scale-set"
    """Change its `group` or its `name` (A9, A10). Answers `name` and `group`."""
    DELETE_SCALE_SET = "delete-scale-set"
    FIND_RUNNER = "find-runner"
    """Look a runner up by its `name` (R3, R10). Answers `runner_id` and `scale_set_id`."""
    REMOVE_RUNNER = "remove-runner"
    """Give up a registration by its `runner_id`: BUSY where its job still runs (R4, R14)."""
    RECALL_REGISTRATION = "recall-registration"
    """Read the id back from the Secret of the runner called `name`, which alone may know it (R3, R11). Answers
    `runner_id`; INVALID where what stands there is no id."""


class CallService(_Intent):
    """One call to the Actions service."""

    action: Literal["call"] = "call"
    call: ServiceCall
    namespace: str
    """Of the scale set whose credentials to use."""
    arguments: dict[str, str | int | tuple[str, ...]] = {}

    @property
    def key(self) -> str:
        """One operation with its arguments."""
        listed = " ".join(f"{name}={value}" for name, value in sorted(self.arguments.items()))
        return f"{self.call} {listed}".strip()


Intent: TypeAlias = Annotated[
    CreateObject
    | CreateRunners
    | PatchObject
    | DeleteObject
    | ReadObject
    | DeleteLabelled
    | WriteSecret
    | RegisterRunner
    | CallService,
    Field(discriminator="action"),
]

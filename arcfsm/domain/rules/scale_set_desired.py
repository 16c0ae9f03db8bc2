"""What runner set and listener of a scale set should be, how far off they are, and the writes that bring them there.

Manifests and comparisons depend on documents and settings alone; they are worked out once and recalled by digest, since
a scale set is looked at far more often than it changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from arcfsm.domain import phases
from arcfsm.domain.drift import desired_spec_changed, listener_object_drift, runner_spec_changed
from arcfsm.domain.fold.listener import REMEMBERED
from arcfsm.domain.instant import SECOND, format_span
from arcfsm.domain.intents import CreateObject, PatchObject
from arcfsm.domain.jsonvalue import Digest, Json, JsonObject, object_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import (
    Unbuildable,
    current_listener_name,
    listener_manifest,
    metadata_patch,
    runner_set_manifest,
    subject,
)
from arcfsm.domain.merge_patch import merge_diff
from arcfsm.domain.rules.rule import Answer, Look, act
from arcfsm.domain.rules.writes import patch
from arcfsm.domain.states import Listener, RunnerSet, ScaleSet


@dataclass(frozen=True, slots=True)
class Desired:
    """The manifests that a scale set wants, or why there are none."""

    listener_name: str
    runner_set: JsonObject = field(default_factory=dict)
    listener: JsonObject = field(default_factory=dict)
    content: Digest = ""
    """Digest of what A14 publishes: runner spec and runner metadata."""
    listener_content: Digest = ""
    """Digest of the listener's manifest."""
    refusal: str = ""


def _desired(look: Look[ScaleSet]) -> Desired:
    one, runner_set = look.subject, runner_set_of(look)
    serves = runner_set.name if runner_set is not None else one.name
    return look.recall(("desired", one.uid, one.spec, one.metadata, serves), lambda: _build(look, serves))


def _build(look: Look[ScaleSet], serves: str) -> Desired:
    one = look.subject
    scale_set = subject(
        kind=Kind.SCALE_SET,
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        metadata=look.document(one.metadata),
        spec=look.document(one.spec),
    )
    name = current_listener_name(scale_set)
    try:
        runner_set = runner_set_manifest(scale_set, look.settings)
        listener = listener_manifest(scale_set, look.settings, runner_set=serves)
    except Unbuildable as refusal:
        return Desired(name, refusal=refusal.detail)
    spec = object_at(runner_set, "spec")
    content = {key: spec.get(key) for key in ("ephemeralRunnerSpec", "ephemeralRunnerMetadata")}
    return Desired(name, runner_set, listener, look.intern(content), look.intern(listener))


def desired(look: Look[ScaleSet]) -> Desired | None:
    """Return the manifests; None where they can't be built."""
    found = look.once(_desired)
    return None if found.refusal else found


def why_unbuildable(look: Look[ScaleSet]) -> str:
    """Return what keeps the manifests from being built, "" if nothing does."""
    return look.once(_desired).refusal


def runner_set_of(look: Look[ScaleSet]) -> RunnerSet | None:
    """Return the runner set that counts: that of the scale set's name, or one that an older controller named."""
    return next(iter(look.once(_runner_sets)), None)


def _runner_sets(look: Look[ScaleSet]) -> tuple[RunnerSet, ...]:
    return look.world.runner_sets_of(look.subject)


def listeners_of(look: Look[ScaleSet]) -> tuple[Listener, ...]:
    """Return every listener that names the scale set, whatever it is called."""
    return look.world.listeners_of(look.subject.namespace, look.subject.name)


def own_listener(look: Look[ScaleSet]) -> Listener | None:
    """Return the listener of the current name (M9)."""
    return look.once(_own_listener)


def _own_listener(look: Look[ScaleSet]) -> Listener | None:
    """Find it by its name, which is exact.

    In advice the name may not be what we make of it: whoever made a recording may have changed the URL that is part of
    it. There a single listener that is younger than the latest change of group and URL is taken for the current one.
    """
    name = look.once(_desired).listener_name
    listeners = look.once(listeners_of)
    for listener in listeners:
        if listener.name == name:
            return listener
    if look.world.advisory and len(listeners) == 1 and listeners[0].created_at + SECOND > look.subject.named_at:
        return listeners[0]
    return None


# How far they are from it


def runner_spec_drift(look: Look[ScaleSet], runner_set: RunnerSet, wanted: Desired) -> str | None:
    """Return where the published runner spec differs from the desired one (D10)."""
    return look.recall(
        ("D10", runner_set.runner_spec, wanted.content),
        lambda: runner_spec_changed(
            look.document(runner_set.runner_spec), object_at(wanted.runner_set, "spec", "ephemeralRunnerSpec")
        ),
    )


def runners_drift(look: Look[ScaleSet], runner_set: RunnerSet, wanted: Desired) -> str | None:
    """Return where the published runner spec or runner metadata differ from the desired ones (D11)."""
    return look.recall(
        ("D11", runner_set.runner_spec, runner_set.runner_metadata, wanted.content),
        lambda: desired_spec_changed(_published(look, runner_set), object_at(wanted.runner_set, "spec")),
    )


def unconverged(runner_set: RunnerSet, wanted: Desired) -> bool:
    """Whether we published just this content before, and what differs is what the API made of it (H17)."""
    read_as = (runner_set.runner_spec, runner_set.runner_metadata)
    return runner_set.published == wanted.content and runner_set.published_as == read_as


def adoption_drift(look: Look[ScaleSet], runner_set: RunnerSet) -> str | None:
    """Return the first idle runner from before revisions existed that was built from another spec (H14)."""
    if runner_set.actionable_revision or runner_set.applied_revision:
        return None
    for runner in look.world.runners_of(runner_set.uid):
        if runner.deleting or runner.done or runner.has_job or runner.revision:
            continue
        if runner.spec != runner_set.runner_spec and _spec_changed(look, runner.spec, runner_set.runner_spec):
            return runner.name
    return None


def _spec_changed(look: Look[ScaleSet], one: Digest, other: Digest) -> str | None:
    return look.recall(("H14", one, other), lambda: runner_spec_changed(look.document(one), look.document(other)))


def listener_drift(look: Look[ScaleSet], listener: Listener, wanted: Desired) -> str | None:
    """Return where a listener differs from the desired one (D13)."""
    one = look.subject
    return look.recall(
        ("D13", one.uid, wanted.listener_content, listener.spec, listener.metadata),
        lambda: listener_object_drift(
            {"spec": look.document(listener.spec), "metadata": look.document(listener.metadata)}, wanted.listener
        ),
    )


def why_futile(look: Look[ScaleSet], listener: Listener, wanted: Desired) -> str | None:
    """Return why replacing the listener would bring nothing: it came out like this, or it never lasts (A18 breaker)."""
    one, settings = look.subject, look.settings
    if one.listener_wanted != wanted.listener_content or not one.listeners_made:
        return None
    if (listener.spec, listener.metadata) == one.listener_made_as:
        return "it came out like this when it was created"
    since = one.listeners_made[-1] - settings.listener_recreations_window
    again = sum(1 for at in one.listeners_made if at >= since) - 1
    if again >= min(settings.listener_recreations_max, REMEMBERED - 1):
        window = format_span(settings.listener_recreations_window)
        return f"somebody changes it each time, {again} times within {window}"
    return None


# The writes that bring them there


def create_runner_set(look: Look[ScaleSet], wanted: Desired) -> CreateObject:
    """Create the runner set, wanting nothing (A11)."""
    return _create(look, Kind.RUNNER_SET, wanted.runner_set)


def create_listener(look: Look[ScaleSet], wanted: Desired, *, stopped: bool = False) -> CreateObject:
    """Create the listener, switched on or, for a parked scale set, off (A17, A6)."""
    manifest = wanted.listener
    if stopped:
        manifest = {**manifest, "spec": {**object_at(manifest, "spec"), "phase": phases.STOPPED}}
    return _create(look, Kind.LISTENER, manifest)


def publish_spec(look: Look[ScaleSet], runner_set: RunnerSet, wanted: Desired, why: str) -> Answer:
    """Publish runner spec and runner metadata under the next revision, in one patch (A14).

    The number only grows: beyond what is published where that is not applied yet, else beyond what is applied (H13).
    """
    behind = runner_set.actionable_revision > runner_set.applied_revision
    revision = (runner_set.actionable_revision if behind else runner_set.applied_revision) + 1
    spec = merge_diff(_published(look, runner_set), _runners(wanted.runner_set))
    body: dict[str, Json] = {"spec": {**spec, "actionableRevision": revision}}
    if metadata := metadata_change(look, runner_set.metadata, wanted, Kind.RUNNER_SET):
        body["metadata"] = metadata
    change = patch(look, runner_set, body, content=wanted.content)
    return act("A14", f"{why}; publishing revision {revision}", change)


def publish_metadata(look: Look[ScaleSet], runner_set: RunnerSet, wanted: Desired) -> PatchObject | None:
    """Patch labels, annotations and runner metadata where they differ, and no revision (A15)."""
    body: dict[str, Json] = {}
    if metadata := metadata_change(look, runner_set.metadata, wanted, Kind.RUNNER_SET):
        body["metadata"] = metadata
    if runners_drift(look, runner_set, wanted) and not runner_spec_drift(look, runner_set, wanted):
        spec = merge_diff(_published(look, runner_set), _runners(wanted.runner_set))
        body["spec"] = {"ephemeralRunnerMetadata": spec.get("ephemeralRunnerMetadata")}
    return patch(look, runner_set, body) if body else None


def listener_spec_change(look: Look[ScaleSet], listener: Listener, wanted: Desired) -> dict[str, Json]:
    """Return the merge patch of a listener's spec, without its phase; empty where it is as desired (A6)."""
    drift = listener_drift(look, listener, wanted)
    if drift is None or not drift.startswith("/spec"):
        return {}
    spec = {key: value for key, value in object_at(wanted.listener, "spec").items() if key != "phase"}
    return merge_diff(look.document(listener.spec), spec)


def metadata_change(look: Look[ScaleSet], live: Digest, wanted: Desired, kind: Kind) -> dict[str, Json]:
    """Return the merge patch of labels and annotations; empty where all that is wanted is there (M1–M3)."""
    one = look.subject
    manifest = wanted.runner_set if kind is Kind.RUNNER_SET else wanted.listener
    return look.recall(
        ("M3", kind, one.uid, one.spec, one.metadata, live),
        lambda: metadata_patch(look.document(live), object_at(manifest, "metadata"), look.settings) or {},
    )


def _runners(runner_set: JsonObject) -> JsonObject:
    spec = object_at(runner_set, "spec")
    return {key: spec.get(key) for key in ("ephemeralRunnerSpec", "ephemeralRunnerMetadata")}


def _published(look: Look[ScaleSet], runner_set: RunnerSet) -> JsonObject:
    metadata = look.document(runner_set.runner_metadata) if runner_set.runner_metadata else None
    return {"ephemeralRunnerSpec": look.document(runner_set.runner_spec), "ephemeralRunnerMetadata": metadata}


def _create(look: Look[ScaleSet], kind: Kind, manifest: JsonObject) -> CreateObject:
    return CreateObject(
        target=look.stream,
        kind=kind,
        namespace=text_at(manifest, "metadata", "namespace"),
        name=text_at(manifest, "metadata", "name"),
        manifest=look.intern(manifest),
    )

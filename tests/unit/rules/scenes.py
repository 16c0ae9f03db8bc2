"""Scale sets with everything in its place, from which a test takes one thing away or changes it."""

from __future__ import annotations

from typing import Any, NamedTuple

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.events.scale_set import ScaleSetMetadataChanged, ScaleSetSpecChanged
from arcfsm.domain.intents import CallService, ServiceCall
from arcfsm.domain.kinds import Kind, StreamId
from arcfsm.domain.manifests import listener_manifest, runner_set_manifest, subject
from tests.unit.rules.harness import Lab, Result


class Scene(NamedTuple):
    """The three objects of one scale set; None for what is not there."""

    ars: StreamId
    ers: StreamId | None
    al: StreamId | None


def scene(
    lab: Lab, *, ers: dict[str, Any] | None = None, al: dict[str, Any] | None = None, without: str = "", **ars: Any
) -> Scene:
    """Build a scale set whose runner set and listener match it. `without` names what is missing: `ers`, `al`."""
    stream = lab.scale_set(**ars)
    wanted = scale_set_object(lab, stream)
    if lab.world.scale_sets[stream.uid].scale_set_id <= 0:
        # What is there was made while it was registered.
        registration = {keys.SCALE_SET_ID: "7", keys.RUNNER_GROUP_NAME: "default", keys.RUNNER_SCALE_SET_NAME: "demo"}
        wanted = {**wanted, "metadata": {**wanted["metadata"], "annotations": registration}}
    runner_set: Any = runner_set_manifest(wanted, lab.world.settings)
    listener: Any = listener_manifest(wanted, lab.world.settings)
    ers_stream = al_stream = None
    if "ers" not in without:
        facts = dict(ers or {})
        ers_stream = lab.runner_set(
            facts.pop("rep", 0),
            facts.pop("patch", 0),
            owner=stream,
            **{
                "runner_spec": runner_set["spec"]["ephemeralRunnerSpec"],
                "runner_metadata": runner_set["spec"].get("ephemeralRunnerMetadata"),
                "labels": runner_set["metadata"]["labels"],
                "annotations": runner_set["metadata"]["annotations"],
                **facts,
            },
        )
    if "al" not in without:
        al_stream = lab.listener(
            **{
                "name": listener["metadata"]["name"],
                "spec": listener["spec"],
                "labels": listener["metadata"].get("labels"),
                "annotations": listener["metadata"].get("annotations"),
                **(al or {}),
            }
        )
    return Scene(stream, ers_stream, al_stream)


def scale_set_object(lab: Lab, ars: StreamId) -> Any:
    """The scale set as manifests are built from it."""
    one, mapping = lab.world.scale_sets[ars.uid], lab.world.documents.mapping
    return subject(
        kind=Kind.SCALE_SET,
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        metadata=mapping(one.metadata),
        spec=mapping(one.spec),
    )


def edit(lab: Lab, ars: StreamId, **changes: Any) -> None:
    """Somebody edits the spec."""
    one = lab.world.scale_sets[ars.uid]
    spec = {**lab.world.documents.mapping(one.spec), **changes}
    lab.fold(ars, ScaleSetSpecChanged(spec=lab.doc(spec), generation=one.generation + 1))


def annotate(lab: Lab, ars: StreamId, part: str = "annotations", **changes: str | None) -> None:
    """Somebody edits annotations or labels; `id` stands for the id annotation, None takes one away."""
    one = lab.world.scale_sets[ars.uid]
    metadata: Any = lab.world.documents.mapping(one.metadata)
    changes = {(keys.SCALE_SET_ID if key == "id" else key): value for key, value in changes.items()}
    after = {key: value for key, value in {**metadata[part], **changes}.items() if value is not None}
    text = after.get(keys.SCALE_SET_ID, "0") if part == "annotations" else str(one.scale_set_id)
    lab.fold(
        ars,
        ScaleSetMetadataChanged(
            metadata=lab.doc({**metadata, part: after}), scale_set_id=int(text) if text.isdigit() else 0
        ),
    )


def registered(id: int = 7, name: str = "demo", group: str = "default") -> Result:
    """What the service answers about a scale set."""
    return Result(Outcome.OK, answer={"id": id, "name": name, "group": group})


def service(lab: Lab, call: ServiceCall, *results: Result) -> None:
    """Script the answers to one kind of question."""
    lab.script(lambda intent: isinstance(intent, CallService) and intent.call is call, *results)

"""What a scale set asks the Actions service, and when an answer still counts: A8, A9, A10 and the lookup of A17.

A question is an intent, its answer an `Attempt` in the scale set's effects. An answer counts if it was asked for after
the latest change of spec and annotations: an id annotation that somebody removes means a new registration, and a group
that is edited there and back is asked for again, although the question reads the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.github_url import InvalidConfigUrl, parse_config_url, url_labels
from arcfsm.domain.intents import CallService, PatchObject, ServiceCall
from arcfsm.domain.jsonvalue import Json, list_at, strings_at, text_at
from arcfsm.domain.merge_patch import merge_diff
from arcfsm.domain.rules.rule import Answer, Look, act, rule, stalled
from arcfsm.domain.rules.writes import patch
from arcfsm.domain.states import Attempt, ScaleSet


@rule("A8", "without a usable id annotation the scale set is looked up on the service, or created there")
def register(look: Look[ScaleSet]) -> Answer | None:
    """The name defaults to the object's and is written into the spec with the annotations."""
    subject = look.subject
    if subject.scale_set_id > 0:
        return None
    return ask_for_registration(look, "no id on the service", asked_after=subject.changed_seq)


def ask_for_registration(look: Look[ScaleSet], why: str, *, asked_after: int) -> Answer | None:
    """Find or create the scale set on the service; then write down what it answered, in one patch.

    None where the answer is written down already: the service knows it by its name, and under the same id.
    """
    subject = look.subject
    spec = look.document(subject.spec)
    url = text_at(spec, "githubConfigUrl")
    try:
        labels_of_url = url_labels(parse_config_url(url))
    except InvalidConfigUrl as error:
        return stalled("A8", f"{why}, and it can't be registered: {error}")
    name = text_at(spec, "runnerScaleSetName") or subject.name
    labels = tuple(dict.fromkeys(label for label in list_at(spec, "runnerScaleSetLabels") if isinstance(label, str)))
    call = _call(
        look,
        ServiceCall.REGISTER_SCALE_SET,
        url=url,
        group=text_at(spec, "runnerGroup"),
        name=name,
        labels=(name, *(label for label in labels if label != name)),
    )
    answer = answered(look, call, asked_after=asked_after)
    if answer is None:
        return act("A8", f"{why}; registering `{name}`", call)
    scale_set_id = answer.answer.get("id", 0)
    if not isinstance(scale_set_id, int) or scale_set_id <= 0:
        return stalled("A8", f"{why}, and the service gave `{name}` none")
    annotations = {
        keys.SCALE_SET_ID: str(scale_set_id),
        keys.RUNNER_SCALE_SET_NAME: str(answer.answer.get("name", "")),
        keys.RUNNER_GROUP_NAME: str(answer.answer.get("group", "")),
    }
    written = _write_down(look, annotations, labels=labels_of_url, name=name)
    if written is None:
        return None
    return act("A8", f"registered as scale set {scale_set_id}; writing it down", written)


@rule("A9", "a new runner group is told to the service")
def update_group(look: Look[ScaleSet]) -> Answer | None:
    """Names of groups differ in more than case. An emptied group changes nothing."""
    known = look.once(_annotations).get(keys.RUNNER_GROUP_NAME)
    wanted = text_at(look.document(look.subject.spec), "runnerGroup")
    if known is not None and (not wanted or wanted.lower() == known.lower()):
        return None
    call = _call(look, ServiceCall.UPDATE_SCALE_SET, id=look.subject.scale_set_id, group=wanted)
    answer = answered(look, call, asked_after=look.subject.changed_seq)
    shown = f"runner group `{wanted or 'default'}`"
    if answer is None:
        return act("A9", f"moving scale set {look.subject.scale_set_id} to {shown}", call)
    if answer.outcome is Outcome.NOT_FOUND:
        return register_again(look, answer) or stalled("A9", "the service finds the scale set by name but not by id")
    annotations = {
        keys.RUNNER_GROUP_NAME: str(answer.answer.get("group", "")),
        keys.RUNNER_SCALE_SET_NAME: str(answer.answer.get("name", "")),
    }
    written = _write_down(look, annotations)
    if written is None:
        return stalled("A9", f"the service was asked for {shown} and answers `{known}`")
    return act("A9", f"moved to {shown}; writing it down", written)


@rule("A10", "a new name is told to the service")
def update_name(look: Look[ScaleSet]) -> Answer | None:
    """Names differ in more than case."""
    known = look.once(_annotations).get(keys.RUNNER_SCALE_SET_NAME)
    wanted = text_at(look.document(look.subject.spec), "runnerScaleSetName")
    if known is not None and (not wanted or wanted.lower() == known.lower()):
        return None
    if not wanted:
        return stalled("A10", "its name on the service is written down nowhere; set spec.runnerScaleSetName")
    call = _call(look, ServiceCall.UPDATE_SCALE_SET, id=look.subject.scale_set_id, name=wanted)
    answer = answered(look, call, asked_after=look.subject.changed_seq)
    if answer is None:
        return act("A10", f"renaming scale set {look.subject.scale_set_id} to `{wanted}`", call)
    if answer.outcome is Outcome.NOT_FOUND:
        return register_again(look, answer) or stalled("A10", "the service finds the scale set by name but not by id")
    written = _write_down(look, {keys.RUNNER_SCALE_SET_NAME: str(answer.answer.get("name", ""))})
    if written is None:
        return stalled("A10", f"the service was asked for the name `{wanted}` and answers `{known}`")
    return act("A10", f"renamed to `{wanted}`; writing it down", written)


def register_again(look: Look[ScaleSet], gone: Attempt) -> Answer | None:
    """The service does not know the id any more: somebody deleted the scale set behind our back (H27).

    None where it is found by name after all, under that id: the later answer counts.
    """
    why = f"scale set {look.subject.scale_set_id} is gone from the service"
    return ask_for_registration(look, why, asked_after=gone.decision)


def lookup(look: Look[ScaleSet]) -> CallService:
    """Ask whether the scale set still exists (A17)."""
    return _call(look, ServiceCall.GET_SCALE_SET, id=look.subject.scale_set_id)


def answered(look: Look[ScaleSet], call: CallService, *, asked_after: int) -> Attempt | None:
    """Return the service's answer to a question asked since; None if there is none, or none that is an answer."""
    attempt = look.effects.attempt(call.key)
    if attempt is None or attempt.decision <= asked_after or attempt.outcome not in (Outcome.OK, Outcome.NOT_FOUND):
        return None
    return attempt


def _call(look: Look[ScaleSet], call: ServiceCall, **arguments: str | int | tuple[str, ...]) -> CallService:
    return CallService(target=look.stream, call=call, namespace=look.subject.namespace, arguments=arguments)


def _annotations(look: Look[ScaleSet]) -> dict[str, str]:
    return strings_at(look.document(look.subject.metadata), "annotations")


def _write_down(
    look: Look[ScaleSet], annotations: Mapping[str, str], *, labels: Mapping[str, str] | None = None, name: str = ""
) -> PatchObject | None:
    """Patch what differs from what is written already; None where nothing does."""
    live = look.document(look.subject.metadata)
    changes: dict[str, dict[str, Json]] = {}
    for part, wanted in (("annotations", annotations), ("labels", labels or {})):
        present = strings_at(live, part)
        if change := merge_diff(present, {**present, **wanted}):
            changes[part] = change
    body: dict[str, Json] = {"metadata": changes} if changes else {}
    if name and text_at(look.document(look.subject.spec), "runnerScaleSetName") != name:
        body["spec"] = {"runnerScaleSetName": name}
    return patch(look, look.subject, body) if body else None

"""Rules of pods: what a create, an update and a status update keep, drop and refuse."""

from __future__ import annotations

from typing import Any, Final

from arcfsm.sim.apiserver.podchecks import spec_causes
from arcfsm.sim.apiserver.poddefaults import quality_class
from arcfsm.sim.apiserver.problems import Cause, forbidden_field, invalid_value
from arcfsm.sim.apiserver.specdiff import spec_diff

Body = dict[str, Any]
_MUTABLE_TEXT: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def create_pod(body: Body) -> None:
    """Start Pending, at generation 1."""
    body["metadata"]["generation"] = 1
    body["status"] = {"phase": "Pending", "qosClass": quality_class(body["spec"])}
    grace = body["spec"].get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        body["spec"]["terminationGracePeriodSeconds"] = 1


def update_pod(new: Body, old: Body) -> None:
    """Keep the status; a changed spec counts up the generation."""
    new["status"] = old["status"]
    if new["spec"] != old["spec"]:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def update_status(new: Body, old: Body) -> None:
    """Keep the spec, the owners and the quality of service."""
    new["spec"] = old["spec"]
    meta = new["metadata"]
    meta.pop("ownerReferences", None)
    if "ownerReferences" in old["metadata"]:
        meta["ownerReferences"] = old["metadata"]["ownerReferences"]
    meta.pop("deletionTimestamp", None)
    if "qosClass" in old["status"]:
        new["status"]["qosClass"] = old["status"]["qosClass"]


def validate_pod(body: Body) -> list[Cause]:
    """Check a new pod."""
    return spec_causes(body["spec"])


def validate_update(new: Body, old: Body) -> list[Cause]:
    """Check that nothing but images, the deadline and more tolerations changed."""
    spec, before = new["spec"], old["spec"]
    causes: list[Cause] = []
    for group in ("containers", "initContainers"):
        have, had = spec.get(group) or [], before.get(group) or []
        if len(have) != len(had):
            causes.append(forbidden_field(f"spec.{group}", "pod updates may not add or remove containers"))
            return causes
    for group in ("containers", "initContainers"):
        for n, container in enumerate(spec.get(group) or []):
            image = container.get("image", "")
            if not image:
                causes.append(Cause("FieldValueRequired", f"spec.{group}[{n}].image", "Required value"))
            elif image != image.strip():
                text = "must not have leading or trailing whitespace"
                causes.append(invalid_value(f"spec.{group}[{n}].image", image, text))
    causes += _deadline_causes(spec, before)
    if causes:
        return causes
    munged = _munged(spec, before)
    if munged != before:
        tolerations = _toleration_causes(spec, before)
        return [*tolerations, forbidden_field("spec", _MUTABLE_TEXT + spec_diff(before, munged))]
    return _toleration_causes(spec, before)


def _deadline_causes(spec: Body, before: Body) -> list[Cause]:
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    path = "spec.activeDeadlineSeconds"
    if new is not None and not 0 <= new <= 2147483647:
        return [invalid_value(path, new, "must be between 0 and 2147483647, inclusive")]
    if old is not None and new is None:
        return [invalid_value(path, None, "must not update from a positive integer to nil value")]
    if old is not None and new is not None and old < new:
        return [invalid_value(path, new, "must be less than or equal to previous value")]
    return []


def _toleration_causes(spec: Body, before: Body) -> list[Cause]:
    have = spec.get("tolerations") or []
    for old in before.get("tolerations") or []:
        same = {key: value for key, value in old.items() if key != "tolerationSeconds"}
        if not any({k: v for k, v in each.items() if k != "tolerationSeconds"} == same for each in have):
            text = "existing toleration can not be modified except its tolerationSeconds"
            return [forbidden_field("spec.tolerations", text)]
    return []


def _munged(spec: Body, before: Body) -> Body:
    """Return the new spec with all that may change put back."""
    munged = dict(spec)
    for group in ("containers", "initContainers"):
        if group in spec:
            munged[group] = [
                {**new, "image": old.get("image", "")} if new.get("image") != old.get("image") else new
                for new, old in zip(spec[group], before[group], strict=True)
            ]
    for name in ("activeDeadlineSeconds", "tolerations"):
        munged.pop(name, None)
        if name in before:
            munged[name] = before[name]
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and spec.get(grace) == 1:
        munged[grace] = before[grace]
    return munged


def validate_status(new: Body, old: Body) -> list[Cause]:
    """Check that what has ended for good does not run again."""
    policy = new["spec"]["restartPolicy"]
    causes: list[Cause] = []
    if policy == "Always":
        return causes
    for group in ("containerStatuses", "initContainerStatuses"):
        before = {each["name"]: each for each in old["status"].get(group) or []}
        for n, status in enumerate(new["status"].get(group) or []):
            ended = (before.get(status["name"]) or {}).get("state", {}).get("terminated")
            if not ended or (policy == "OnFailure" and ended["exitCode"] != 0):
                continue
            if not status["state"].get("terminated"):
                path = f"status.{group}[{n}].state"
                causes.append(forbidden_field(path, "may not be transitioned to non-terminated state"))
    return causes


def warnings_of(body: Body) -> list[str]:
    """Return what a create is warned about."""
    found = []
    for group in ("initContainers", "containers"):
        for n, container in enumerate(body["spec"].get(group) or []):
            seen: set[str] = set()
            for m, env in enumerate(container.get("env") or []):
                if env["name"] in seen:
                    found.append(
                        f'spec.{group}[{n}].env[{m}]: hides previous definition of "{env["name"]}", '
                        "which may be dropped when using apply"
                    )
                seen.add(env["name"])
    return found

"""What makes a pod valid, and what may change about one.

A pod is read and defaulted before it comes here, so types and enumerations with defaults are settled; what remains are
the rules between fields. Only images, the deadline and added tolerations may change once a pod is there.
"""

from __future__ import annotations

from typing import Any, Final

from arcfsm.sim.api import names
from arcfsm.sim.api.defaulting import containers_of
from arcfsm.sim.api.dump import difference
from arcfsm.sim.api.failure import Cause, denied, duplicate, missing_target, not_one_of, required, wrong
from arcfsm.sim.api.metadata import quoted
from arcfsm.sim.api.scalars import parse_quantity

Item = dict[str, Any]

INT32_MAX: Final = 2**31 - 1
_PORT_MAX: Final = 65535
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("FallbackToLogsOnError", "File")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_STANDARD_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_IMMUTABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def check_pod(item: Item) -> list[Cause]:
    """Find what is wrong with a pod."""
    spec = item["spec"]
    causes: list[Cause] = []
    volumes = _check_volumes(spec, causes)
    if not spec.get("containers"):
        causes.append(required("spec.containers"))
    seen: set[str] = set()
    for place, index, container in containers_of(spec):
        _check_container(container, f"spec.{place}[{index}]", seen, volumes, causes)
    if spec["restartPolicy"] not in _RESTART_POLICIES:
        causes.append(not_one_of("spec.restartPolicy", quoted(spec["restartPolicy"]), _RESTART_POLICIES))
    if spec["dnsPolicy"] not in _DNS_POLICIES:
        causes.append(not_one_of("spec.dnsPolicy", quoted(spec["dnsPolicy"]), _DNS_POLICIES))
    causes += _check_deadline(spec)
    for key, value in (spec.get("nodeSelector") or {}).items():
        causes += [wrong("spec.nodeSelector", quoted(key), fault) for fault in names.qualified_name(key)]
        causes += [wrong("spec.nodeSelector", quoted(value), fault) for fault in names.label_value(value)]
    for field, check in (
        ("hostname", names.dns_label), ("subdomain", names.dns_label), ("nodeName", names.dns_subdomain),
        ("serviceAccountName", names.dns_subdomain),
    ):  # fmt: skip
        if spec.get(field):
            causes += [wrong(f"spec.{field}", quoted(spec[field]), fault) for fault in check(spec[field])]
    return causes


def _check_deadline(spec: Item) -> list[Cause]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= INT32_MAX:
        return [wrong("spec.activeDeadlineSeconds", str(deadline), f"must be between 1 and {INT32_MAX}, inclusive")]
    return []


def _check_volumes(spec: Item, causes: list[Cause]) -> set[str]:
    known: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        path = f"spec.volumes[{index}]"
        name = volume.get("name", "")
        if not name:
            causes.append(required(f"{path}.name"))
        else:
            causes += [wrong(f"{path}.name", quoted(name), fault) for fault in names.dns_label(name)]
        if name in known:
            causes.append(duplicate(f"{path}.name", quoted(name)))
        known.add(name)
        causes += [
            denied(f"{path}.{extra}", "may not specify more than 1 volume type")
            for extra in [key for key in volume if key != "name"][1:]
        ]
    return known


def _check_container(container: Item, path: str, seen: set[str], volumes: set[str], causes: list[Cause]) -> None:
    name = container.get("name", "")
    if not name:
        causes.append(required(f"{path}.name"))
    else:
        causes += [wrong(f"{path}.name", quoted(name), fault) for fault in names.dns_label(name)]
        if name in seen:
            causes.append(duplicate(f"{path}.name", quoted(name)))
        seen.add(name)
    image = container.get("image", "")
    if not image:
        causes.append(required(f"{path}.image"))
    elif image != image.strip():
        causes.append(wrong(f"{path}.image", quoted(image), "must not have leading or trailing whitespace"))
    for field, choices in (("imagePullPolicy", _PULL_POLICIES), ("terminationMessagePolicy", _MESSAGE_POLICIES)):
        if container[field] not in choices:
            causes.append(not_one_of(f"{path}.{field}", quoted(container[field]), choices))
    for index, variable in enumerate(container.get("env") or ()):
        _check_variable(variable, f"{path}.env[{index}]", causes)
    for index, port in enumerate(container.get("ports") or ()):
        _check_port(port, f"{path}.ports[{index}]", causes)
    mounted: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where = f"{path}.volumeMounts[{index}]"
        if not mount.get("name"):
            causes.append(required(f"{where}.name"))
        elif mount["name"] not in volumes:
            causes.append(missing_target(f"{where}.name", quoted(mount["name"])))
        target = mount.get("mountPath", "")
        if not target:
            causes.append(required(f"{where}.mountPath"))
        if target in mounted:
            causes.append(wrong(f"{where}.mountPath", quoted(target), "must be unique"))
        mounted.add(target)
    _check_resources(container.get("resources") or {}, f"{path}.resources", causes)


def _check_variable(variable: Item, path: str, causes: list[Cause]) -> None:
    name = variable.get("name", "")
    if not name:
        causes.append(required(f"{path}.name"))
    else:
        causes += [wrong(f"{path}.name", quoted(name), fault) for fault in names.env_name(name)]
    source = variable.get("valueFrom")
    if source is None:
        return
    if variable.get("value"):
        causes.append(wrong(f"{path}.valueFrom", '""', "may not be specified when `value` is not empty"))
    if not source:
        causes.append(wrong(f"{path}.valueFrom", '""', "must specify one of: `fieldRef`, `resourceFieldRef`, "
                            "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))  # fmt: skip


def _check_port(port: Item, path: str, causes: list[Cause]) -> None:
    number = port.get("containerPort", 0)
    if not number:
        causes.append(required(f"{path}.containerPort"))
    elif not 1 <= number <= _PORT_MAX:
        causes.append(wrong(f"{path}.containerPort", str(number), f"must be between 1 and {_PORT_MAX}, inclusive"))
    if port["protocol"] not in _PROTOCOLS:
        causes.append(not_one_of(f"{path}.protocol", quoted(port["protocol"]), _PROTOCOLS))


def _check_resources(resources: Item, path: str, causes: list[Cause]) -> None:
    limits = resources.get("limits") or {}
    for group in ("limits", "requests"):
        for name, value in (resources.get(group) or {}).items():
            where = f"{path}.{group}[{name}]"
            causes += [wrong(where, quoted(name), fault) for fault in names.qualified_name(name)]
            if "/" not in name and name not in _STANDARD_RESOURCES and not name.startswith("hugepages-"):
                causes.append(wrong(where, quoted(name), "must be a standard resource type or fully qualified"))
                causes.append(wrong(where, quoted(name), "must be a standard resource for containers"))
            amount = parse_quantity(value).value
            if amount < 0:
                causes.append(wrong(where, quoted(value), "must be greater than or equal to 0"))
            if group == "requests" and name in limits and amount > parse_quantity(limits[name]).value:
                detail = f"must be less than or equal to {name} limit of {limits[name]}"
                causes.append(wrong(f"{path}.requests", quoted(value), detail))


def pod_warnings(item: Item) -> list[str]:
    """Warn about what is accepted and probably not meant."""
    found: list[str] = []
    for place, index, container in containers_of(item["spec"]):
        known: set[str] = set()
        for number, variable in enumerate(container.get("env") or ()):
            name = variable.get("name", "")
            if name in known:
                detail = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
                found.append(f"spec.{place}[{index}].env[{number}]: {detail}")
            known.add(name)
    return found


# --- updates --------------------------------------------------------------------------------------------------------


def check_pod_update(item: Item, before: Item) -> list[Cause]:
    """Find what an update of a pod's spec may not change."""
    spec, old = item["spec"], before["spec"]
    for place in ("containers", "initContainers"):
        if len(spec.get(place) or ()) != len(old.get(place) or ()):
            return [denied(f"spec.{place}", "pod updates may not add or remove containers")]
    causes = _check_deadline_update(spec, old) + _check_toleration_update(spec, old)
    if causes:
        return causes
    munged = dict(spec)
    for place in ("containers", "initContainers"):
        if place in old:
            munged[place] = [
                {**new, "image": kept.get("image", "")} for new, kept in zip(spec[place], old[place], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "tolerations"):
        munged.pop(field, None)
        if field in old:
            munged[field] = old[field]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if munged == old:
        return []
    told = difference(old, munged)
    return [denied("spec", _IMMUTABLE + told)] if told else []


def _check_deadline_update(spec: Item, old: Item) -> list[Cause]:
    path = "spec.activeDeadlineSeconds"
    new, kept = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if new is not None:
        causes = _check_deadline(spec)
        if not causes and kept is not None and new > kept:
            causes.append(wrong(path, str(new), "must be less than or equal to previous value"))
        return causes
    return [wrong(path, "null", "must not update from a positive integer to nil value")] if kept is not None else []


def _check_toleration_update(spec: Item, old: Item) -> list[Cause]:
    def bare(toleration: Item) -> Item:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    present = [bare(each) for each in spec.get("tolerations") or ()]
    if all(bare(each) in present for each in old.get("tolerations") or ()):
        return []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    return [denied("spec.tolerations", detail)]


def check_pod_status(item: Item, before: Item) -> list[Cause]:
    """Find what an update of a pod's status may not change: ended containers stay ended unless they are restarted."""
    policy = item["spec"].get("restartPolicy")
    if policy == "Always":
        return []
    causes: list[Cause] = []
    restarting = {each.get("name") for each in item["spec"].get("initContainers") or () if each.get("restartPolicy")}
    for place in ("containerStatuses", "initContainerStatuses"):
        for old in (before.get("status") or {}).get(place) or ():
            ended = old["state"].get("terminated")
            if ended is None or (policy == "OnFailure" and ended.get("exitCode")) or old["name"] in restarting:
                continue
            for index, new in enumerate((item.get("status") or {}).get(place) or ()):
                if new["name"] == old["name"] and "terminated" not in new["state"]:
                    path = f"status.{place}[{index}].state"
                    causes.append(denied(path, "may not be transitioned to non-terminated state"))
    return causes

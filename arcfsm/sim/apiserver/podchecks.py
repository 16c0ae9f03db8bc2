"""What is refused in a pod's spec, with the field and the text of each fault."""

from __future__ import annotations

import re
from typing import Any, Final

from arcfsm.sim.apiserver.metadata import dns_label_errors, label_causes, qualified_name_errors, subdomain_errors
from arcfsm.sim.apiserver.problems import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    quoted,
    required,
    unsupported,
)
from arcfsm.sim.apiserver.quantity import parse

Body = dict[str, Any]
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_ENV_TEXT: Final = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_STANDARD: Final = {"cpu", "memory", "ephemeral-storage", "storage"}
_PORT_TEXT: Final = "must be between 1 and 65535, inclusive"


def _not_found(field: str, value: str) -> Cause:
    return Cause("FieldValueNotFound", field, f"Not found: {quoted(value)}")


def spec_causes(spec: Body) -> list[Cause]:
    """Check the spec of a pod."""
    path = "spec"
    causes: list[Cause] = []
    volumes = _volume_causes(spec.get("volumes") or [], causes)
    names: set[str] = set()
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for n, container in enumerate(spec.get(group) or []):
            where = f"{path}.{group}[{n}]"
            _container_causes(container, where, volumes, causes, init=group == "initContainers")
            if container["name"] in names:
                causes.append(duplicate(f"{where}.name", container["name"]))
            elif container["name"]:
                names.add(container["name"])
    _choices(spec, causes)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2147483647:
        causes.append(
            invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
        )
    for name, check in (("serviceAccountName", subdomain_errors), ("nodeName", subdomain_errors),
                        ("priorityClassName", subdomain_errors), ("hostname", dns_label_errors),
                        ("subdomain", dns_label_errors)):  # fmt: skip
        if value := spec.get(name):
            causes += [invalid_value(f"{path}.{name}", value, text) for text in check(value)]
    causes += label_causes(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    for n, toleration in enumerate(spec.get("tolerations") or []):
        _toleration_causes(toleration, f"{path}.tolerations[{n}]", causes)
    for n, secret in enumerate(spec.get("imagePullSecrets") or []):
        if not secret.get("name"):
            causes.append(required(f"{path}.imagePullSecrets[{n}].name"))
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        causes.append(
            required(
                f"{path}.dnsConfig.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None"
            )
        )
    return causes


def _choices(spec: Body, causes: list[Cause]) -> None:
    if spec["restartPolicy"] not in {"Always", "OnFailure", "Never"}:
        causes.append(unsupported("spec.restartPolicy", spec["restartPolicy"], ["Always", "OnFailure", "Never"]))
    policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
    if spec["dnsPolicy"] not in policies:
        causes.append(unsupported("spec.dnsPolicy", spec["dnsPolicy"], policies))
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in {"PreemptLowerPriority", "Never"}:
        causes.append(unsupported("spec.preemptionPolicy", preemption, ["Never", "PreemptLowerPriority"]))


def _volume_causes(volumes: list[Body], causes: list[Cause]) -> set[str]:
    seen: set[str] = set()
    for n, volume in enumerate(volumes):
        where = f"spec.volumes[{n}]"
        name = volume["name"]
        if not name:
            causes.append(required(f"{where}.name"))
        else:
            causes += [invalid_value(f"{where}.name", name, text) for text in dns_label_errors(name)]
        if name in seen:
            causes.append(duplicate(f"{where}.name", name))
        seen.add(name)
        sources = [key for key in volume if key != "name"]
        causes += [forbidden_field(f"{where}.{key}", "may not specify more than 1 volume type") for key in sources[1:]]
        if "secret" in volume and not volume["secret"].get("secretName"):
            causes.append(required(f"{where}.secret.secretName"))
        if "configMap" in volume and not volume["configMap"].get("name"):
            causes.append(required(f"{where}.configMap.name"))
        if "hostPath" in volume and not volume["hostPath"]["path"]:
            causes.append(required(f"{where}.hostPath.path"))
        if "persistentVolumeClaim" in volume and not volume["persistentVolumeClaim"]["claimName"]:
            causes.append(required(f"{where}.persistentVolumeClaim.claimName"))
    return seen


def _container_causes(container: Body, where: str, volumes: set[str], causes: list[Cause], *, init: bool) -> None:
    name, image = container["name"], container.get("image", "")
    if not name:
        causes.append(required(f"{where}.name"))
    else:
        causes += [invalid_value(f"{where}.name", name, text) for text in dns_label_errors(name)]
    if not image:
        causes.append(required(f"{where}.image"))
    elif image != image.strip():
        causes.append(invalid_value(f"{where}.image", image, "must not have leading or trailing whitespace"))
    restart = container.get("restartPolicy")
    if restart is not None and init and restart != "Always":
        causes.append(unsupported(f"{where}.restartPolicy", restart, ["Always"]))
    if container["imagePullPolicy"] not in {"Always", "IfNotPresent", "Never"}:
        choices = ["Always", "IfNotPresent", "Never"]
        causes.append(unsupported(f"{where}.imagePullPolicy", container["imagePullPolicy"], choices))
    if container["terminationMessagePolicy"] not in {"File", "FallbackToLogsOnError"}:
        choices = ["FallbackToLogsOnError", "File"]
        causes.append(unsupported(f"{where}.terminationMessagePolicy", container["terminationMessagePolicy"], choices))
    for n, port in enumerate(container.get("ports") or []):
        _port_causes(port, f"{where}.ports[{n}]", causes)
    for n, env in enumerate(container.get("env") or []):
        _env_causes(env, f"{where}.env[{n}]", causes)
    mounts: set[str] = set()
    for n, mount in enumerate(container.get("volumeMounts") or []):
        at = f"{where}.volumeMounts[{n}]"
        if not mount["name"]:
            causes.append(required(f"{at}.name"))
        elif mount["name"] not in volumes:
            causes.append(_not_found(f"{at}.name", mount["name"]))
        if not mount["mountPath"]:
            causes.append(required(f"{at}.mountPath"))
        elif mount["mountPath"] in mounts:
            causes.append(invalid_value(f"{at}.mountPath", mount["mountPath"], "must be unique"))
        mounts.add(mount["mountPath"])
    _resource_causes(container["resources"], f"{where}.resources", causes)


def _port_causes(port: Body, where: str, causes: list[Cause]) -> None:
    number = port["containerPort"]
    if number == 0:
        causes.append(required(f"{where}.containerPort"))
    elif not 1 <= number <= 65535:
        causes.append(invalid_value(f"{where}.containerPort", number, _PORT_TEXT))
    host = port.get("hostPort", 0)
    if host and not 1 <= host <= 65535:
        causes.append(invalid_value(f"{where}.hostPort", host, _PORT_TEXT))
    if port["protocol"] not in {"TCP", "UDP", "SCTP"}:
        causes.append(unsupported(f"{where}.protocol", port["protocol"], ["SCTP", "TCP", "UDP"]))


def _env_causes(env: Body, where: str, causes: list[Cause]) -> None:
    if not env["name"]:
        causes.append(required(f"{where}.name"))
    elif not _ENV_NAME.fullmatch(env["name"]):
        causes.append(invalid_value(f"{where}.name", env["name"], _ENV_TEXT))
    source = env.get("valueFrom")
    if source is None:
        return
    if not source:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        causes.append(invalid_value(f"{where}.valueFrom", "", text))
    elif env.get("value"):
        causes.append(invalid_value(f"{where}.valueFrom", "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        causes.append(invalid_value(f"{where}.valueFrom", "", "may not have more than one field specified at a time"))
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            causes += [
                required(f"{where}.valueFrom.{kind}.{name}") for name in ("name", "key") if not source[kind].get(name)
            ]


def _resource_causes(resources: Body, where: str, causes: list[Cause]) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for group, values in (("limits", limits), ("requests", requests)):
        for name, value in values.items():
            at = f"{where}.{group}[{name}]"
            if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
                causes.append(invalid_value(at, name, "must be a standard resource type or fully qualified"))
                causes.append(invalid_value(at, name, "must be a standard resource for containers"))
            else:
                causes += [invalid_value(at, name, text) for text in qualified_name_errors(name)]
            if parse(value) < 0:
                causes.append(invalid_value(at, value, "must be greater than or equal to 0"))
    for name, value in requests.items():
        if name in limits and parse(value) > parse(limits[name]):
            text = f"must be less than or equal to {name} limit of {limits[name]}"
            causes.append(invalid_value(f"{where}.requests", value, text))


def _toleration_causes(toleration: Body, where: str, causes: list[Cause]) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    if key:
        causes += [invalid_value(f"{where}.key", key, text) for text in qualified_name_errors(key)]
    elif operator != "Exists":
        causes.append(
            invalid_value(
                f"{where}.operator",
                operator,
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        )
    if operator not in {"", "Equal", "Exists"}:
        causes.append(unsupported(f"{where}.operator", operator, ["Equal", "Exists"]))
    if operator == "Exists" and toleration.get("value"):
        causes.append(invalid_value(f"{where}.operator", toleration, "value must be empty when `operator` is 'Exists'"))
    if toleration.get("effect", "") not in {"", "NoSchedule", "PreferNoSchedule", "NoExecute"}:
        choices = ["NoExecute", "NoSchedule", "PreferNoSchedule"]
        causes.append(unsupported(f"{where}.effect", toleration["effect"], choices))
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        causes.append(
            invalid_value(
                f"{where}.effect",
                toleration.get("effect", ""),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        )

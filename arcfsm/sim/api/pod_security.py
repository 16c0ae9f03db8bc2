"""Pod Security: which pods the levels `baseline` and `restricted` refuse, and the list of faults they give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from arcfsm.sim.api.defaulting import containers_of

Item = dict[str, Any]

_BASELINE_CAPABILITIES: Final = frozenset({
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
})  # fmt: skip
_RESTRICTED_VOLUMES: Final = frozenset({
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret", "image",
})  # fmt: skip
_PROFILES: Final = ("RuntimeDefault", "Localhost")


def violations(spec: Item, level: str) -> list[str]:
    """Return what a level refuses about a pod, in the order of the real checks."""
    if level not in {"baseline", "restricted"}:
        return []
    restricted = level == "restricted"
    found = [
        *_host_namespaces(spec),
        *_privileged(spec),
        *(() if restricted else _baseline_capabilities(spec)),
        *_host_paths(spec),
        *_host_ports(spec),
    ]
    if restricted:
        found += [
            *_escalation(spec), *_restricted_capabilities(spec), *_volume_types(spec), *_non_root(spec),
            *_root_user(spec), *_seccomp(spec),
        ]  # fmt: skip
    return found


def _containers(spec: Item) -> Iterator[tuple[str, Item]]:
    for _, _, container in containers_of(spec):
        yield container["name"], container.get("securityContext") or {}


def _named(bad: list[str], what: str = "container") -> str:
    quoted = ", ".join(f'"{name}"' for name in bad)
    return f"{what} {quoted}" if len(bad) == 1 else f"{what}s {quoted}"


def _host_namespaces(spec: Item) -> Iterator[str]:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    if used:
        yield f"host namespaces ({', '.join(used)})"


def _privileged(spec: Item) -> Iterator[str]:
    bad = [name for name, context in _containers(spec) if context.get("privileged")]
    if bad:
        yield f"privileged ({_named(bad)} must not set securityContext.privileged=true)"


def _baseline_capabilities(spec: Item) -> Iterator[str]:
    bad: list[str] = []
    extra: list[str] = []
    for name, context in _containers(spec):
        added = (context.get("capabilities") or {}).get("add") or []
        beyond = [each for each in added if each not in _BASELINE_CAPABILITIES]
        if beyond:
            bad.append(name)
            extra += [each for each in beyond if each not in extra]
    if bad:
        listed = ", ".join(f'"{each}"' for each in sorted(extra))
        yield f"non-default capabilities ({_named(bad)} must not include {listed} in securityContext.capabilities.add)"


def _host_paths(spec: Item) -> Iterator[str]:
    bad = [volume["name"] for volume in spec.get("volumes") or () if "hostPath" in volume]
    if bad:
        yield f"hostPath volumes ({_named(bad, 'volume')})"


def _host_ports(spec: Item) -> Iterator[str]:
    bad: list[str] = []
    ports: list[str] = []
    for _, _, container in containers_of(spec):
        used = [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]
        if used:
            bad.append(container["name"])
            ports += [port for port in used if port not in ports]
    if bad:
        verb = "uses" if len(bad) == 1 else "use"
        noun = "hostPort" if len(ports) == 1 else "hostPorts"
        yield f"hostPort ({_named(bad)} {verb} {noun} {', '.join(sorted(ports))})"


def _escalation(spec: Item) -> Iterator[str]:
    bad = [name for name, context in _containers(spec) if context.get("allowPrivilegeEscalation") is not False]
    if bad:
        told = f"{_named(bad)} must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({told})"


def _restricted_capabilities(spec: Item) -> Iterator[str]:
    keeps: list[str] = []
    adds: list[str] = []
    extra: list[str] = []
    for name, context in _containers(spec):
        capabilities = context.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or []):
            keeps.append(name)
        beyond = [each for each in capabilities.get("add") or [] if each != "NET_BIND_SERVICE"]
        if beyond:
            adds.append(name)
            extra += [each for each in beyond if each not in extra]
    told: list[str] = []
    if keeps:
        told.append(f'{_named(keeps)} must set securityContext.capabilities.drop=["ALL"]')
    if adds:
        listed = ", ".join(f'"{each}"' for each in sorted(extra))
        told.append(f"{_named(adds)} must not include {listed} in securityContext.capabilities.add")
    if told:
        yield f"unrestricted capabilities ({'; '.join(told)})"


def _volume_types(spec: Item) -> Iterator[str]:
    bad: list[str] = []
    types: list[str] = []
    for volume in spec.get("volumes") or ():
        for source in volume:
            if source != "name" and source not in _RESTRICTED_VOLUMES:
                bad.append(volume["name"])
                types.append(source)
    if bad:
        verb = "uses" if len(bad) == 1 else "use"
        noun = "type" if len(set(types)) == 1 else "types"
        listed = ", ".join(f'"{each}"' for each in sorted(set(types)))
        yield f"restricted volume types ({_named(bad, 'volume')} {verb} restricted volume {noun} {listed})"


def _non_root(spec: Item) -> Iterator[str]:
    pod = (spec.get("securityContext") or {}).get("runAsNonRoot")
    explicit = [name for name, context in _containers(spec) if context.get("runAsNonRoot") is False]
    implicit = [name for name, context in _containers(spec) if context.get("runAsNonRoot") is None]
    if explicit or pod is False:
        told = ["pod"] if pod is False else []
        told += [_named(explicit)] if explicit else []
        yield f"runAsNonRoot != true ({' and '.join(told)} must not set securityContext.runAsNonRoot=false)"
    elif implicit and not pod:
        yield f"runAsNonRoot != true (pod or {_named(implicit)} must set securityContext.runAsNonRoot=true)"


def _root_user(spec: Item) -> Iterator[str]:
    told = ["pod"] if (spec.get("securityContext") or {}).get("runAsUser") == 0 else []
    bad = [name for name, context in _containers(spec) if context.get("runAsUser") == 0]
    told += [_named(bad)] if bad else []
    if told:
        yield f"runAsUser=0 ({' and '.join(told)} must not set runAsUser=0)"


def _seccomp(spec: Item) -> Iterator[str]:
    pod = ((spec.get("securityContext") or {}).get("seccompProfile") or {}).get("type")
    kinds = {name: (context.get("seccompProfile") or {}).get("type") for name, context in _containers(spec)}
    explicit = [name for name, kind in kinds.items() if kind is not None and kind not in _PROFILES]
    implicit = [name for name, kind in kinds.items() if kind is None]
    if explicit or (pod is not None and pod not in _PROFILES):
        told = ["pod"] if pod is not None and pod not in _PROFILES else []
        told += [_named(explicit)] if explicit else []
        yield f'seccompProfile ({" and ".join(told)} must not set securityContext.seccompProfile.type to "Unconfined")'
    elif implicit and pod is None:
        choices = '"RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_named(implicit)} must set securityContext.seccompProfile.type to {choices})"

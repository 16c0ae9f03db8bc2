"""PodSecurity: the faults of a pod under the levels baseline and restricted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from arcfsm.sim.apiserver.poddefaults import containers

Body = dict[str, Any]
_ALLOWED_CAPABILITIES: Final = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}  # fmt: skip
_ALLOWED_VOLUMES: Final = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret", "image",
}  # fmt: skip


def _names(found: Iterable[str]) -> str:
    listed = [f'"{name}"' for name in found]
    return f"container{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


def _own(container: Body) -> Body:
    return container.get("securityContext") or {}


def _bad(spec: Body, test: Callable[[Body], bool]) -> list[str]:
    return [each["name"] for each in containers(spec) if test(each)]


def violations(spec: Body, level: str) -> list[str]:
    """Return the faults, in the order of the real server."""
    if level == "privileged":
        return []
    found = []
    restricted = level == "restricted"
    if restricted:
        bad = _bad(spec, lambda each: _own(each).get("allowPrivilegeEscalation") is not False)
        if bad:
            found.append(
                f"allowPrivilegeEscalation != false ({_names(bad)} must set "
                "securityContext.allowPrivilegeEscalation=false)"
            )
    found += _host_faults(spec)
    bad = _bad(spec, lambda each: _own(each).get("privileged") is True)
    if bad:
        found.append(f"privileged ({_names(bad)} must not set securityContext.privileged=true)")
    if restricted:
        found += _restricted(spec)
    return found


def _host_faults(spec: Body) -> list[str]:
    found = []
    extra = sorted(
        {c for each in containers(spec) for c in (_own(each).get("capabilities") or {}).get("add") or ()}
        - _ALLOWED_CAPABILITIES
    )
    if extra:
        bad = _bad(spec, lambda each: bool(set((_own(each).get("capabilities") or {}).get("add") or ()) & set(extra)))
        listed = ", ".join(f'"{each}"' for each in extra)
        found.append(
            f"non-default capabilities ({_names(bad)} must not include {listed} in securityContext.capabilities.add)"
        )
    hosts = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if hosts:
        found.append(f"host namespaces ({', '.join(hosts)})")
    paths = [volume["name"] for volume in spec.get("volumes") or () if "hostPath" in volume]
    if paths:
        plural = "s" if len(paths) > 1 else ""
        listed = ", ".join(f'"{name}"' for name in paths)
        found.append(f"hostPath volumes (volume{plural} {listed})")
    ports = _bad(spec, lambda each: any(port.get("hostPort") for port in each.get("ports") or ()))
    if ports:
        numbers = sorted(
            {p["hostPort"] for each in containers(spec) for p in each.get("ports") or () if p.get("hostPort")}
        )
        plural = "s" if len(numbers) > 1 else ""
        found.append(
            f"hostPort ({_names(ports)} use{'s' if len(ports) == 1 else ''} hostPort{plural} {', '.join(map(str, numbers))})"
        )
    return found


def _restricted(spec: Body) -> list[str]:
    found = []
    pod = spec.get("securityContext") or {}
    kinds = [
        (volume["name"], key) for volume in spec.get("volumes") or () for key in volume
        if key != "name" and key not in _ALLOWED_VOLUMES
    ]  # fmt: skip
    bad = _bad(spec, lambda each: "ALL" not in ((_own(each).get("capabilities") or {}).get("drop") or ()))
    if bad:
        found.append(f'unrestricted capabilities ({_names(bad)} must set securityContext.capabilities.drop=["ALL"])')
    if kinds:
        listed = ", ".join(f'"{name}"' for name, _ in kinds)
        types = ", ".join(f'"{kind}"' for kind in sorted({kind for _, kind in kinds}))
        plural = "s" if len(kinds) > 1 else ""
        found.append(
            f"restricted volume types (volume{plural} {listed} use{'' if plural else 's'} restricted volume type{plural} {types})"
        )
    if pod.get("runAsNonRoot") is not True:
        bad = _bad(spec, lambda each: _own(each).get("runAsNonRoot") is not True)
        if bad:
            found.append(f"runAsNonRoot != true (pod or {_names(bad)} must set securityContext.runAsNonRoot=true)")
    if pod.get("runAsUser") == 0:
        found.append("runAsUser=0 (pod must not set runAsUser=0)")
    bad = _bad(spec, lambda each: _own(each).get("runAsUser") == 0)
    if bad:
        found.append(f"runAsUser=0 ({_names(bad)} must not set runAsUser=0)")
    if (pod.get("seccompProfile") or {}).get("type") not in {"RuntimeDefault", "Localhost"}:
        bad = _bad(
            spec,
            lambda each: (_own(each).get("seccompProfile") or {}).get("type") not in {"RuntimeDefault", "Localhost"},
        )
        if bad:
            found.append(
                f"seccompProfile (pod or {_names(bad)} must set securityContext.seccompProfile.type to "
                '"RuntimeDefault" or "Localhost")'
            )
    return found

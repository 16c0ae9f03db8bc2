"""The defaults of the API server that a comparison by derivation would take for somebody's edit (H18).

Numbers typed by value have no unset state (D7). Where a template omits them and the server fills them in, a live pod
seems to differ from what is desired on every look, and a listener is deleted and created for ever. So exactly those
defaults are applied first, and the protocol of ports with them. They change nothing in a pod that the server has
completed, so both sides get them, and no pod drifts from itself.

Deliberately not applied is every default that derivation ignores anyway (image pull policy, DNS policy, scheduler,
modes of volumes, …): admission may rightly choose something else for those, and a default filled in here would then
turn into drift that nobody caused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from arcfsm.domain.jsonvalue import Json, JsonObject, object_at, objects_at

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_DEFAULTED_CONTAINERS: Final = ("containers", "initContainers")


def with_pod_defaults(spec: JsonObject) -> JsonObject:
    """Return a pod spec with the numbers that the API server would fill in. The argument is left as it is."""
    on_host = spec.get("hostNetwork") is True
    return _replaced(
        spec,
        {
            field: (lambda containers: [_container(container, on_host=on_host) for container in containers])
            for field in _DEFAULTED_CONTAINERS
        },
    )


def _container(container: JsonObject, *, on_host: bool) -> JsonObject:
    completed = _replaced(container, {"ports": lambda ports: [_port(port, on_host=on_host) for port in ports]})
    probes = {name: _probe(object_at(container, name)) for name in _PROBES if container.get(name) is not None}
    return {**completed, **probes} if probes else completed


def _port(port: JsonObject, *, on_host: bool) -> JsonObject:
    """A port on the host's network is the host's port; a port without a protocol is TCP."""
    completed: dict[str, Json] = {**port, "protocol": port.get("protocol") or "TCP"}
    if on_host and not port.get("hostPort"):
        completed["hostPort"] = port.get("containerPort")
    return completed


def _probe(probe: JsonObject) -> JsonObject:
    """A zero counts as omitted."""
    return {**probe, **{name: value for name, value in _PROBE_DEFAULTS.items() if not probe.get(name)}}


def _replaced(
    value: JsonObject, changes: dict[str, Callable[[Sequence[JsonObject]], Sequence[JsonObject]]]
) -> JsonObject:
    changed = {field: change(objects_at(value, field)) for field, change in changes.items() if value.get(field)}
    return {**value, **changed} if changed else value

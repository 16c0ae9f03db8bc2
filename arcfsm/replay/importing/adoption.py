"""Settings that a recording shows: how its controller was set up, as far as that can be read off what it made.

A replay under other settings than the recorded controller's would report drift that was none: another listener image,
say. So what can be seen is adopted: from the first listener its image, pull secrets and namespace, and its image again
from every later one, since the controller may have been upgraded in between; from the first listener pod the entrypoint
and the metrics address; from the first runner pod the version in its user agent. What is not seen (label prefixes that
are not propagated, log settings, delays) keeps its default, and people may override everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import JsonObject, integer_at, list_at, object_at, objects_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.settings import ControllerSettings

USER_AGENT: Final = "GITHUB_ACTIONS_RUNNER_EXTRA_USER_AGENT"
USER_AGENT_PREFIX: Final = "actions-runner-controller/"
METRICS_PORT: Final = "metrics"
METRICS_OFF: Final = "0"


class Adoption:
    """Looks at objects until everything that can be known is. `clean` takes credentials out of text."""

    def __init__(self, overrides: Mapping[str, Any], *, clean: Callable[[str], str]) -> None:
        self._overrides = dict(overrides)
        self._clean = clean
        self._found: dict[str, Any] = {}
        self._missing = {Kind.LISTENER, "listener pod", "runner pod"}

    @property
    def complete(self) -> bool:
        """Whether further objects tell nothing new."""
        return not self._missing

    def look(self, obj: JsonObject) -> None:
        """Learn from one object."""
        kind = text_at(obj, "kind")
        if kind == Kind.LISTENER and Kind.LISTENER in self._missing:
            self._missing.discard(Kind.LISTENER)
            self._listener(obj)
        elif kind == Kind.POD:
            owners = {text_at(owner, "kind") for owner in objects_at(obj, "metadata", "ownerReferences")}
            if Kind.LISTENER in owners and "listener pod" in self._missing:
                self._missing.discard("listener pod")
                self._listener_pod(obj)
            elif Kind.RUNNER in owners and "runner pod" in self._missing:
                self._missing.discard("runner pod")
                self._runner_pod(obj)

    def settings(self, base: ControllerSettings) -> ControllerSettings:
        """Return the settings to decide under: what people said, else what was seen, else `base`."""
        return base.model_copy(update={**self._found, **self._overrides})

    def upgraded(self, listener: JsonObject, settings: ControllerSettings) -> ControllerSettings:
        """Return the settings that a new listener shows: an upgraded controller gives it another image (A18)."""
        image = text_at(listener, "spec", "image")
        if not image or "listener_image" in self._overrides:
            return settings
        return settings.model_copy(update={"listener_image": self._clean(image)})

    def _listener(self, obj: JsonObject) -> None:
        namespace, image = text_at(obj, "metadata", "namespace"), text_at(obj, "spec", "image")
        secrets = (text_at(one, "name") for one in objects_at(obj, "spec", "imagePullSecrets"))
        self._found["image_pull_secrets"] = tuple(self._clean(name) for name in secrets if name)
        if namespace:
            self._found["controller_namespace"] = self._clean(namespace)
        if image:
            self._found["listener_image"] = self._clean(image)

    def _listener_pod(self, obj: JsonObject) -> None:
        container = _container(obj, keys.LISTENER_CONTAINER)
        command = [part for part in list_at(container, "command") if isinstance(part, str)]
        if len(command) == 1:
            self._found["listener_entrypoint"] = self._clean(command[0])
        ports = [port for port in objects_at(container, "ports") if text_at(port, "name") == METRICS_PORT]
        self._found["metrics_addr"] = f":{integer_at(ports[0], 'containerPort')}" if ports else METRICS_OFF

    def _runner_pod(self, obj: JsonObject) -> None:
        for entry in objects_at(_container(obj, keys.RUNNER_CONTAINER), "env"):
            agent = text_at(entry, "value")
            if text_at(entry, "name") == USER_AGENT and agent.startswith(USER_AGENT_PREFIX):
                self._found["user_agent_version"] = self._clean(agent.removeprefix(USER_AGENT_PREFIX))


def _container(pod: JsonObject, name: str) -> JsonObject:
    found = (one for one in objects_at(pod, "spec", "containers") if text_at(one, "name") == name)
    return next(found, object_at({}, "none"))

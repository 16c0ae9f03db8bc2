"""What a cluster holds before anybody acts.

Namespaces, default service accounts, the GitHub credentials of the scale sets.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from arcfsm.domain.kinds import RESOURCES, Kind, Resource
from arcfsm.sim.scenario.model import Scenario

NAMESPACES: Final = Resource("", "v1", "namespaces")
NODES: Final = Resource("", "v1", "nodes")
CREDENTIALS: Final = "github-credentials"
TOKEN: Final = "simulated-pat"
"""What they hold: a word that must be found nowhere else."""


def bootstrap_objects(scenario: Scenario) -> Iterator[tuple[Resource, str, dict[str, Any]]]:
    """Yield resource, namespace and object, in an order in which they can be created."""
    namespaces = ("default", "kube-system", scenario.controller_namespace, scenario.namespace)
    for namespace in dict.fromkeys(namespaces):
        yield NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        yield RESOURCES[Kind.SERVICE_ACCOUNT], namespace, account
    pat = base64.b64encode(TOKEN.encode()).decode()
    yield (
        RESOURCES[Kind.SECRET],
        scenario.namespace,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": CREDENTIALS}, "data": {"github_token": pat}},
    )

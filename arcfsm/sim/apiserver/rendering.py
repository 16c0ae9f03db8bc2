"""What an answer is shown as: whole objects, their metadata only, or the table that kubectl prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import yaml

from arcfsm.sim.apiserver.message import Response
from arcfsm.sim.apiserver.resources import Resource

Body = dict[str, Any]
META: Final = "meta.k8s.io/v1"


def wanted(accept: str) -> str:
    """Return what an Accept header asks for first: `Table`, `PartialObjectMetadata`, its list, or nothing special."""
    for choice in accept.split(","):
        parts = [part.strip() for part in choice.split(";")]
        media, parameters = parts[0], dict(part.partition("=")[::2] for part in parts[1:])
        if media not in {"application/json", "*/*", "application/*"}:
            continue
        if parameters.get("g") == "meta.k8s.io" and parameters.get("v") == "v1":
            return str(parameters.get("as", ""))
        return ""
    return ""


def wants_yaml(accept: str) -> bool:
    """Whether an Accept header asks for YAML before anything else."""
    return accept.partition(",")[0].partition(";")[0].strip() == "application/yaml"


def as_yaml(answer: Response) -> Response:
    """Write an answer as YAML."""
    answer.text = yaml.safe_dump(answer.body, sort_keys=True, allow_unicode=True, width=10_000)
    answer.content_type = "application/yaml"
    return answer


def partial(body: Body) -> Body:
    """Return the metadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": body["metadata"]}


def partial_list(body: Body) -> Body:
    """Return the metadata of the objects of a list."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": META,
        "metadata": {k: v for k, v in body["metadata"].items() if v != ""},
        "items": [partial(each) for each in body["items"]],
    }


def renderer(accept: str, resource: Resource, now: Callable[[], int]) -> Callable[[Body], Body]:
    """Return how the events of a watch show objects."""
    kind = wanted(accept)
    if kind == "PartialObjectMetadata":
        return partial
    if kind == "Table":
        from arcfsm.sim.apiserver.tables import table  # noqa: PLC0415  # tables need this module's names

        return lambda body: table(
            [body], resource, {"resourceVersion": body["metadata"]["resourceVersion"]}, now(), "Metadata"
        )
    return lambda body: body

"""The paths of the API: where a collection or an object is, and the query that goes with it."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, urlencode

from arcfsm.domain.kinds import Resource


@lru_cache(maxsize=1024)
def collection(resource: Resource, namespace: str) -> str:
    """Return the path of a collection; all namespaces, or one without, where `namespace` is ""."""
    root = f"/apis/{quote(resource.group)}/{resource.version}" if resource.group else f"/api/{resource.version}"
    place = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{root}{place}/{resource.plural}"


def item(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of an object, or of a part of it."""
    path = f"{collection(resource, namespace)}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path


def query(**parameters: str | int) -> str:
    """Return a query string with its question mark; what is "" or 0 is left out."""
    said = {name: value for name, value in parameters.items() if value not in {"", 0}}
    return f"?{urlencode(said)}" if said else ""

"""Custom resource definitions: read from files or from the API, and turned into resources that are served.

The project's own four definitions are in `arcfsm/sim/crds`. A definition is read as a client would send it; what the
server needs of it is its names, the schema of its served version, the status subresource and the printer columns.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml

from arcfsm.sim.api.kinds import PrinterColumn, ResourceType
from arcfsm.sim.api.request import JsonObject

OWN_CRDS: Final = Path(__file__).parents[1] / "crds"
"""The folder of the project's own definitions."""
KIND: Final = "CustomResourceDefinition"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C loader where there is one: the public definitions are megabytes of YAML."""
_cache: dict[Path, tuple[int, list[JsonObject]]] = {}


def load_crds(folder: Path = OWN_CRDS) -> list[JsonObject]:
    """Read all definitions of a folder. Raises OSError, or ValueError naming the file that is not one."""
    found: list[JsonObject] = []
    paths = sorted(path for path in folder.iterdir() if path.suffix in {".yaml", ".yml", ".json"})
    if not paths:
        raise ValueError(f"{folder}: no YAML files in it")
    for path in paths:
        found += _load(path)
    return found


def _load(path: Path) -> list[JsonObject]:
    changed = path.stat().st_mtime_ns
    known = _cache.get(path)
    if known is not None and known[0] == changed:
        return known[1]
    try:
        documents = [each for each in yaml.load_all(path.read_text(encoding="utf-8"), Loader=_LOADER) if each]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not readable as YAML: {str(error).splitlines()[0]}") from error
    for document in documents:
        if not isinstance(document, dict) or document.get("kind") != KIND:
            raise ValueError(f"{path}: not a {KIND}")
    _cache[path] = (changed, documents)
    return documents


def resources_of(definition: JsonObject) -> list[ResourceType]:
    """Return the resources a definition asks to serve. Raises ValueError for one that cannot be served."""
    try:
        spec = definition["spec"]
        return [_resource(spec, version) for version in spec["versions"] if version.get("served")]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{definition.get('metadata', {}).get('name')}: incomplete definition: {error}") from error


def _resource(spec: JsonObject, version: JsonObject) -> ResourceType:
    names = spec["names"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"x-kubernetes-preserve-unknown-fields": True}
    subresources = version.get("subresources") or {}
    return ResourceType(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec.get("scope", "Namespaced") == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        subresources=("status",) if "status" in subresources else (),
        schema=schema,
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
        fields=tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()),
        converts_fields=True,
        counts_generations=True,
    )


def _column(column: JsonObject) -> PrinterColumn:
    path = re.sub(r"\\\.", "\0", column["jsonPath"].lstrip("."))
    return PrinterColumn(
        name=column["name"],
        type=column["type"],
        path=tuple(part.replace("\0", ".") for part in path.split(".")),
        description=column.get("description", ""),
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )


def accepted(definition: JsonObject, now: str) -> JsonObject:
    """Return a definition as the server keeps it: names completed, and established."""
    spec = definition["spec"]
    names = spec["names"]
    kind = names["kind"]
    completed = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    conditions = [
        {
            "type": kind_of, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message,
        }
        for kind_of, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]  # fmt: skip
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
    return {
        **definition,
        "spec": {"conversion": {"strategy": "None"}, **spec, "names": completed},
        "status": {"conditions": conditions, "acceptedNames": completed, "storedVersions": stored},
    }

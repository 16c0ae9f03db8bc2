"""The fold of a scale set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from arcfsm.domain.events.scale_set import (
    ScaleSetCreated,
    ScaleSetDeletionRequested,
    ScaleSetFinalizersChanged,
    ScaleSetGenerationObserved,
    ScaleSetGone,
    ScaleSetMetadataChanged,
    ScaleSetObserved,
    ScaleSetPhaseChanged,
    ScaleSetSpecChanged,
)
from arcfsm.domain.fold.fields import appear, set_fields, vanish
from arcfsm.domain.instant import Instant
from arcfsm.domain.states import ScaleSet

SCALE_SET_FOLD: Final[dict[type[Any], Callable[[ScaleSet, Any, Instant], ScaleSet]]] = {
    ScaleSetCreated: appear,
    ScaleSetObserved: appear,
    ScaleSetSpecChanged: set_fields,
    ScaleSetMetadataChanged: set_fields,
    ScaleSetFinalizersChanged: set_fields,
    ScaleSetPhaseChanged: set_fields,
    ScaleSetGenerationObserved: set_fields,
    ScaleSetDeletionRequested: set_fields,
    ScaleSetGone: vanish,
}

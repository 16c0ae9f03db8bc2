"""The rules of a scale set, in order."""

from __future__ import annotations

from arcfsm.domain.rules.rule import RuleFunction
from arcfsm.domain.states import ScaleSet

SCALE_SET_RULES: tuple[RuleFunction[ScaleSet], ...] = ()

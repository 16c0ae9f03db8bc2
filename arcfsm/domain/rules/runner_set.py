"""The rules of a runner set, in order."""

from __future__ import annotations

from arcfsm.domain.rules.rule import RuleFunction
from arcfsm.domain.states import RunnerSet

RUNNER_SET_RULES: tuple[RuleFunction[RunnerSet], ...] = ()

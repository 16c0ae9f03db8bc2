"""The rules of a runner, in order."""

from __future__ import annotations

from arcfsm.domain.rules.rule import RuleFunction
from arcfsm.domain.states import Runner

RUNNER_RULES: tuple[RuleFunction[Runner], ...] = ()

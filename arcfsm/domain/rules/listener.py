"""The rules of a listener, in order."""

from __future__ import annotations

from arcfsm.domain.rules.rule import RuleFunction
from arcfsm.domain.states import Listener

LISTENER_RULES: tuple[RuleFunction[Listener], ...] = ()

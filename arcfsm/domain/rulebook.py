"""The rulebook: every rule id of rules.md that code answers for, with one line and the function that does.

Functions enter themselves with the `rule` decorator where they are defined, so an id has exactly one home.
docs/rules.md is made from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """One line of docs/rules.md."""

    id: str
    summary: str
    module: str
    function: str
    line: int


RULES: dict[str, RuleEntry] = {}
"""Every rule by its id in rules.md, in the order of declaration."""

F = TypeVar("F", bound=Callable[..., object])


def rule(rule_id: str, summary: str, *also: str) -> Callable[[F], F]:
    """Enter a function into the rulebook under its id (and `also` under others it implements with it).

    Raises ValueError if an id is taken: every rule has one home.
    """

    def enter(function: F) -> F:
        code = function.__code__
        for name in (rule_id, *also):
            if name in RULES:
                raise ValueError(f"rule {name} is implemented twice")
            RULES[name] = RuleEntry(name, summary, function.__module__, function.__qualname__, code.co_firstlineno)
        return function

    return enter

"""Stalls: silent rest states, found by folding the journal and asking named conditions after each turn."""

from arcfsm.audit.stalls import conditions as _conditions  # noqa: F401  # entered by being imported
from arcfsm.audit.stalls.condition import CONDITIONS, Stall
from arcfsm.audit.stalls.scan import Scan

__all__ = ["CONDITIONS", "Scan", "Stall"]

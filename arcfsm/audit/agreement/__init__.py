"""Agreement: advice beside what another controller did."""

from arcfsm.audit.agreement.matching import Agreement, Comparison, Matching

__all__ = ["Agreement", "Comparison", "Matching"]

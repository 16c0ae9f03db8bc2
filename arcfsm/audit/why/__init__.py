"""Why: the causal chain of what happened to an object, told backwards.

A watch stream says what changed, seldom why. Where the journal holds a cause (our own decisions and outcomes, gaps)
the chain follows it. Elsewhere it takes the latest fact that brings such a change about by the rules of the
controllers, and says that this is inferred. Where there is none, or it may lie in a gap, it says that.
"""

from arcfsm.audit.why.answer import Explanation, Held, Standing, explain
from arcfsm.audit.why.explanation import Kind, Link, Step

__all__ = ["Explanation", "Held", "Kind", "Link", "Standing", "Step", "explain"]

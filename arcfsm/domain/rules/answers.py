"""What became of an intent that a rule would want: asked, answered, taken.

An answer belongs to the question that was asked; `since` names the decision after which it must have been asked to
count.
"""

from __future__ import annotations

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.fold import TAKEN
from arcfsm.domain.intents import DeleteObject, Intent
from arcfsm.domain.states import Attempt, Effects

_ANSWERED = frozenset({Outcome.OK, Outcome.NOT_FOUND})


def answer_to(effects: Effects, question: Intent, *, since: int = 0) -> Attempt | None:
    """Return the answer to a question asked since: it is so, or there is none. None while there is no answer."""
    attempt = effects.attempt(question.key)
    if attempt is None or attempt.decision <= since or attempt.outcome not in _ANSWERED:
        return None
    return attempt


def is_taken(effects: Effects, deletion: DeleteObject) -> bool:
    """Whether the API server took a deletion of this very object; the watch tells when it is gone."""
    attempt = about(effects, deletion)
    return attempt is not None and attempt.outcome in TAKEN


def about(effects: Effects, deletion: DeleteObject) -> Attempt | None:
    """Return how the latest deletion of this very object ended; one of a predecessor of that name is none."""
    attempt = effects.attempt(deletion.key)
    if attempt is None or attempt.written.partition(" ")[0] != deletion.uid:
        return None
    return attempt


def integer_in(attempt: Attempt | None, name: str) -> int:
    """Return an integer that an answer holds; 0 where there is none."""
    told = attempt.answer.get(name, 0) if attempt is not None else 0
    return told if isinstance(told, int) else 0

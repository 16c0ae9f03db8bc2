"""What keeps wishes from coming true that no rule of an aggregate can mend, said by a name people can look up."""

from __future__ import annotations

from typing import Final

from arcfsm.domain.events.decision import Finding, Outcome
from arcfsm.domain.intents import CallService, Intent, RegisterRunner, WriteSecret
from arcfsm.domain.kinds import KIND_OF
from arcfsm.domain.pruning import LISTENER_PHASE
from arcfsm.domain.rules.rule import A, Look
from arcfsm.domain.states import Attempt

_NEED_CREDENTIALS: Final = (CallService, RegisterRunner, WriteSecret)


def report_old_crd(look: Look[A]) -> None:
    """Say that the installed CRD drops fields that we write (H34). Once: a finding is news only when it changes."""
    kind = KIND_OF[look.stream.kind]
    dropped = look.world.pruned.get(kind)
    if not dropped:
        return
    instead = "listeners are deleted while parked" if LISTENER_PHASE in dropped else "the journal stands in for them"
    text = f"the installed CRD of {kind} does not keep {', '.join(sorted(dropped))}; {instead}. Upgrade the CRDs"
    look.find("CrdTooOld", text)


def credentials_refused(intent: Intent, attempt: Attempt) -> Finding | None:
    """Return what to say of an intent for which there are no credentials, or none that are accepted (H26)."""
    if not isinstance(intent, _NEED_CREDENTIALS) or attempt.outcome is not Outcome.FORBIDDEN:
        return None
    return Finding(code="CredentialsRefused", text=f"`{intent.key}` needs credentials: {attempt.detail or 'forbidden'}")

"""What is left of a listener that is deleted or switched off: nothing (L14)."""

from __future__ import annotations

from typing import NamedTuple

from arcfsm.domain.instant import MILLISECOND, Instant
from arcfsm.domain.intents import DeleteObject, Intent
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.answers import about, is_taken
from arcfsm.domain.rules.listener_objects import config_secret_of, proxy_secret_of
from arcfsm.domain.rules.pod_deletion import delete_pod, stuck_from
from arcfsm.domain.rules.rule import Look, rule
from arcfsm.domain.states import Dependent, Listener

LOOK_AGAIN = 500 * MILLISECOND


class Cleanup(NamedTuple):
    """What a clean-up wants, and what it waits for."""

    intents: tuple[Intent, ...]
    going: tuple[str, ...]
    """What must be gone first."""
    wake_at: Instant | None

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return not (self.intents or self.going)


@rule(
    "L14", "pod, both Secrets, binding, Role and account are deleted in one pass, whatever the spec says now", "L-clean"
)
def clean(look: Look[Listener]) -> Cleanup:
    """The proxy Secret goes even if no proxy is wanted any more: a stopped listener is edited in place.

    Only what is known is deleted. So the engine lists roles, bindings, accounts, Secrets and pods to their end before
    anything is decided, and again after every gap: a listener is done only when nothing of it can be there unseen.

    A Secret counts as gone once its deletion was taken, unless a finalizer of somebody else holds it.
    """
    one = look.subject
    intents: list[Intent] = []
    going: list[str] = []
    moments: list[Instant] = []
    if one.pod is not None:
        intents += delete_pod(look, one.pod)
        going.append("pod")
        if (stuck := stuck_from(look, one.pod)) is not None and not look.world.advisory:
            moments.append(stuck)
    for found in (
        config_secret_of(look),
        proxy_secret_of(look),
        look.world.dependent(Kind.ROLE_BINDING, one.scale_set_namespace, one.name),
        look.world.dependent(Kind.ROLE, one.scale_set_namespace, one.name),
        look.world.dependent(Kind.SERVICE_ACCOUNT, one.namespace, one.name),
    ):
        if found is None:
            continue
        deletion = DeleteObject(
            target=look.stream, kind=found.kind, namespace=found.namespace, name=found.name, uid=found.uid
        )
        if not (found.deleting or is_taken(look.effects, deletion)):
            intents.append(deletion)
        elif found.kind is not Kind.SECRET:
            going.append(str(found.kind))
        elif found.finalizers:
            going.append(str(found.kind))
            moments.append(_taken_at(look, deletion, found) + LOOK_AGAIN)
    # Once: after that the watch tells. Asking on would fill the journal for as long as the Secret is held.
    wake_at = min((at for at in moments if at > look.now), default=None)
    return Cleanup(tuple(intents), tuple(dict.fromkeys(going)), wake_at)


def _taken_at(look: Look[Listener], deletion: DeleteObject, found: Dependent) -> Instant:
    attempt = about(look.effects, deletion)
    return attempt.at if attempt is not None else found.deletion_requested_at or 0

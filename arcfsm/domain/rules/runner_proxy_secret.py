"""The proxy Secret of a set's runners (S5)."""

from __future__ import annotations

from arcfsm.domain.intents import Intent
from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.states import RunnerSet


def runner_manifest(look: Look[RunnerSet]) -> Digest:
    subject = look.subject
    return look.intern(
        {
            "metadata": {
                "annotations": {
                    "actions.github.com/patch-id": str(subject.patch_id),
                    "actions.github.com/actionable-revision": str(subject.actionable_revision),
                },
                "finalizers": [
                    "ephemeralrunner.actions.github.com/finalizer",
                    "ephemeralrunner.actions.github.com/runner-registration-finalizer",
                ],
                "ownerReferences": [{"uid": subject.uid, "name": subject.name}],
            },
            "spec": look.document(subject.runner_spec),
        }
    )


def write_proxy_secret(look: Look[RunnerSet]) -> tuple[Intent, ...]:
    return ()


def delete_proxy_secret(look: Look[RunnerSet]) -> tuple[Intent, ...]:
    return ()

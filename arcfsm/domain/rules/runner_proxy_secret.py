"""The proxy Secret that a set's runners read (S5). Its values are composed inside the effect and never seen here."""

from __future__ import annotations

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.intents import DeleteObject, Intent, SecretRecipe, WriteSecret
from arcfsm.domain.jsonvalue import JsonObject, object_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import metadata_patch, runner_proxy_secret, subject
from arcfsm.domain.names import runner_proxy_secret_name
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.states import Dependent, RunnerSet


def runner_set_object(look: Look[RunnerSet]) -> JsonObject:
    """Return the runner set as manifests are built from it."""
    one = look.subject
    return subject(
        kind=Kind.RUNNER_SET,
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        metadata=look.document(one.metadata),
        spec={
            "patchID": one.patch_id,
            "actionableRevision": one.actionable_revision,
            "ephemeralRunnerSpec": look.document(one.runner_spec),
            "ephemeralRunnerMetadata": look.document(one.runner_metadata) if one.runner_metadata else None,
        },
    )


def write_proxy_secret(look: Look[RunnerSet]) -> tuple[Intent, ...]:
    """Write the Secret where the runner spec names a proxy and the Secret is not known to be up to date."""
    proxy = look.document(look.subject.runner_spec).get("proxy")
    if proxy is None:
        return ()
    manifest = runner_proxy_secret(runner_set_object(look), look.settings)
    write = WriteSecret(
        target=look.stream,
        recipe=SecretRecipe.RUNNER_PROXY,
        namespace=look.subject.namespace,
        name=text_at(manifest, "metadata", "name"),
        manifest=look.intern(manifest),
    )
    found = proxy_secret_of(look)
    if found is None:
        # Where others write, Secrets need not be among what we are shown.
        return () if look.world.advisory else (write,)
    if metadata_patch(look.document(found.metadata), object_at(manifest, "metadata"), look.settings):
        return (write,)
    return () if look.world.advisory or _up_to_date(look, write, found) else (write,)


def delete_proxy_secret(look: Look[RunnerSet]) -> tuple[Intent, ...]:
    """Delete the Secret if there is one."""
    found = proxy_secret_of(look)
    if found is None or found.deleting:
        return ()
    return (
        DeleteObject(target=look.stream, kind=Kind.SECRET, namespace=found.namespace, name=found.name, uid=found.uid),
    )


def proxy_secret_of(look: Look[RunnerSet]) -> Dependent | None:
    """Return what is known of the Secret; None where the runners have no proxy, whatever is left of an earlier one."""
    one = look.subject
    if look.document(one.runner_spec).get("proxy") is None:
        return None
    return look.world.dependent(Kind.SECRET, one.namespace, runner_proxy_secret_name(one.namespace, one.name))


def _up_to_date(look: Look[RunnerSet], write: WriteSecret, found: Dependent) -> bool:
    """Whether we wrote it for this runner spec, and the credentials it was composed from are no newer."""
    one = look.subject
    attempt = look.effects.attempt(write.key)
    if attempt is None or attempt.outcome is not Outcome.OK or attempt.decision <= one.revised_seq:
        return False
    proxy = object_at(look.document(one.runner_spec), "proxy")
    for part in ("http", "https"):
        name = text_at(proxy, part, "credentialSecretRef")
        source = look.world.dependent(Kind.SECRET, one.namespace, name) if name else None
        if source is not None and (source.modified_at or 0) > max(found.modified_at or 0, attempt.at):
            return False
    return True

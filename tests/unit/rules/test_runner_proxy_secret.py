"""The proxy Secret of a set's runners (T145, T147, T148; S5)."""

from __future__ import annotations

import pytest

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.events.dependent import DependentChanged, DependentGone
from arcfsm.domain.events.runner_set import RunnerSpecPublished
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.intents import SecretRecipe, WriteSecret
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import CONTROLLER_STREAM, NAMESPACE, Lab, Result
from tests.unit.rules.telling import tell

NAME = "demo-754b578d-runner-proxy"
WRITE = f"write Secret {NAMESPACE}/{NAME}"
PROXY = {"http": {"url": "http://proxy:3128", "credentialSecretRef": "proxy-cred"}}
SPEC = {"githubConfigUrl": "https://github.com/acme/repo", "runnerScaleSetId": 7, "proxy": PROXY, "spec": {}}
LABELS = {"actions.github.com/scale-set-name": "demo", "actions.github.com/scale-set-namespace": NAMESPACE}
ERROR = Result(Outcome.FAILED, detail="500 Internal Server Error", status=500)


@pytest.fixture
def lab():
    return Lab()


def proxied(lab, rep=0, patch=0, **facts):
    return lab.runner_set(rep, patch, runner_spec=SPEC, labels=LABELS, **facts)


def credentials_change(lab):
    lab.fold(
        CONTROLLER_STREAM,
        DependentChanged(
            kind=Kind.SECRET,
            namespace=NAMESPACE,
            name="proxy-cred",
            uid="cred",
            resource_version=lab.rv(),
            metadata=lab.doc({}),
            modified_at=lab.now,
        ),
    )


def test_T147_the_secret_is_written_beside_the_scaling(lab):
    ers = proxied(lab, 1, 1)
    wanted = lab.look(ers).intents
    assert tell(lab, wanted) == [WRITE, "create 1 ER for patch 1"]
    assert isinstance(wanted[0], WriteSecret)
    assert wanted[0].recipe is SecretRecipe.RUNNER_PROXY
    assert lab.patch_of(wanted[1])["spec"]["proxySecretRef"] == NAME


def test_T147_an_up_to_date_secret_is_written_once(lab):
    ers = proxied(lab)
    assert tell(lab, lab.drive(ers)) == [WRITE]
    lab.later(MINUTE)
    assert lab.drive(ers) == []


def test_T148_newer_credentials_write_it_again_and_touch_no_runner(lab):
    ers = proxied(lab, 1, 1)
    lab.runner("a", of=ers, id=1, p=1)
    lab.drive(ers)
    lab.later(MINUTE)
    credentials_change(lab)
    assert tell(lab, lab.drive(ers)) == [WRITE]
    lab.later(MINUTE)
    assert lab.drive(ers) == []


def test_S5_another_proxy_writes_it_again_before_the_revision_counts(lab):
    ers = proxied(lab)
    lab.drive(ers)
    lab.later(MINUTE)
    other = {**SPEC, "proxy": {"https": {"url": "http://other:3128"}}}
    lab.fold(ers, RunnerSpecPublished(runner_spec=lab.doc(other), actionable_revision=1))
    lab.script(WriteSecret, ERROR, Result())
    assert tell(lab, lab.drive(ers)) == [WRITE]
    assert lab.world.runner_sets[ers.uid].applied_revision == 0
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == [WRITE, 'patch ERS/status! {"appliedActionableRevision":1}']


def test_S5_a_secret_whose_labels_were_edited_is_mended(lab):
    ers = proxied(lab)
    lab.drive(ers)
    lab.later(MINUTE)
    known = lab.world.dependent(Kind.SECRET, NAMESPACE, NAME)
    bare = {name: getattr(known, name) for name in ("kind", "namespace", "name", "uid", "resource_version")}
    lab.fold(CONTROLLER_STREAM, DependentChanged(**bare, metadata=lab.doc({}), modified_at=lab.now))
    assert tell(lab, lab.drive(ers)) == [WRITE]


def test_S5_a_secret_that_cannot_be_written_stops_no_scaling(lab):
    ers = proxied(lab, 1, 1)
    lab.script(WriteSecret, ERROR)
    assert "create 1 ER for patch 1" in tell(lab, lab.drive(ers))


def test_T145_a_deleted_set_takes_its_secret_along(lab):
    ers = proxied(lab, deleting=True)
    lab.dependent(Kind.SECRET, NAME)
    assert tell(lab, lab.drive(ers)) == [f"delete Secret {NAME}", 'patch ERS {"metadata":{"finalizers":[]}}']


def test_T145_the_finalizer_waits_for_the_secret(lab):
    ers = proxied(lab, deleting=True)
    lab.dependent(Kind.SECRET, NAME, finalizers=("foreign",))
    assert tell(lab, lab.drive(ers)) == [f"delete Secret {NAME}"]
    assert lab.world.runner_sets[ers.uid].finalizers
    known = lab.world.dependent(Kind.SECRET, NAMESPACE, NAME)
    lab.fold(CONTROLLER_STREAM, DependentGone(kind=known.kind, namespace=known.namespace, name=NAME, uid=known.uid))
    assert tell(lab, lab.drive(ers)) == ['patch ERS {"metadata":{"finalizers":[]}}']


def test_S_clean_a_parked_set_without_runners_drops_its_secret(lab):
    ers = proxied(lab, r=(1, 1), phase="Outdated")
    lab.dependent(Kind.SECRET, NAME)
    assert tell(lab, lab.drive(ers)) == [f"delete Secret {NAME}"]


def test_S5_in_advice_nothing_is_said_about_secrets_that_nobody_shows(lab):
    lab = Lab(advisory=True)
    ers = proxied(lab, 1, 1)
    assert tell(lab, lab.look(ers).intents) == ["create 1 ER for patch 1"]


def test_without_a_proxy_there_is_no_secret(lab):
    ers = lab.runner_set(0, 0)
    assert lab.drive(ers) == []

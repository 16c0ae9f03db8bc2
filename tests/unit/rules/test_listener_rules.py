"""A listener and what it needs: T200–T208, T212, T227–T229, T232; H16, H19; advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.dependent import DependentChanged, DependentGone
from arcfsm.domain.events.listener import (
    ListenerDeletionRequested,
    ListenerFinalizersChanged,
    ListenerPodDeletionRequested,
    ListenerPodGone,
    ListenerSwitched,
)
from arcfsm.domain.events.scale_set import ScaleSetGone
from arcfsm.domain.instant import HOUR, MILLISECOND, SECOND
from arcfsm.domain.intents import CreateObject, PatchObject, ServiceCall
from arcfsm.domain.kinds import Kind
from arcfsm.domain.states import DependentKey
from tests.unit.rules.harness import CONTROLLER_NAMESPACE, LISTENER, NAMESPACE, Lab, Result
from tests.unit.rules.listeners import (
    CONFIG,
    CREATE_POD,
    DELETE_POD,
    PROXY,
    SAME,
    WRITE_CONFIG,
    WRITE_PROXY,
    adopted,
    children,
    edit_secret,
    end,
    listener_of,
    start,
    up,
)
from tests.unit.rules.scenes import registered, scene, service
from tests.unit.rules.telling import tell

FINALIZER = f'patch AL {LISTENER} {{"metadata":{{"finalizers":["{keys.LISTENER_FINALIZER}"]}}}}'
RELEASE = f'patch AL {LISTENER} {{"metadata":{{"finalizers":[]}}}}'
READ_ARS = f"read AutoscalingRunnerSet {NAMESPACE}/demo"
EVERYTHING = [
    DELETE_POD,
    f"delete Secret {CONFIG}",
    f"delete Secret {PROXY}",
    f"delete RoleBinding {LISTENER}",
    f"delete Role {LISTENER}",
    f"delete ServiceAccount {LISTENER}",
]
BEHIND_PROXY = {"http": {"url": "http://proxy:3128", "credentialSecretRef": "proxy-cred"}}


@pytest.fixture
def lab():
    return Lab()


def find(lab, kind, name=LISTENER, namespace=CONTROLLER_NAMESPACE):
    return lab.world.dependents[DependentKey(kind, namespace, name)]


def change(lab, al, found, **changes):
    """Somebody edits a child."""
    facts = {field: getattr(found, field) for field in found.__struct_fields__}
    lab.fold(al, DependentChanged(**{**facts, "resource_version": lab.rv(), **changes}))


def test_T200_a_new_listener_gets_everything_in_order(lab):
    """Config Secret and pod are one pass upstream; here the pod waits for the outcome that tells the version."""
    _, _, al = scene(lab, al={"finalizer": False})
    done = lab.drive(al)
    assert tell(lab, done) == [
        FINALIZER,
        f"create ServiceAccount {LISTENER}",
        f"create Role {LISTENER}",
        f"create RoleBinding {LISTENER}",
        WRITE_CONFIG,
        CREATE_POD,
    ]
    stamp = lab.patch_of(done[-1])["metadata"]["annotations"][keys.LISTENER_CONFIG_VERSION]
    assert stamp == find(lab, Kind.SECRET, CONFIG).resource_version
    assert lab.last(al).verdict is Verdict.WAIT
    start(lab, al)
    assert lab.look(al).verdict is Verdict.SETTLED


def test_T201_without_a_scale_set_it_is_deleted(lab):
    al = lab.listener()
    lab.script("read AutoscalingRunnerSet", Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(al))[:2] == [READ_ARS, f"delete AL {LISTENER}"]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.OK])
def test_T201_but_not_because_its_scale_set_was_not_seen_yet(lab, outcome):
    al = lab.listener()
    lab.script("read AutoscalingRunnerSet", Result(outcome))
    assert tell(lab, lab.drive(al)) == [READ_ARS]
    assert not listener_of(lab, al).deleting


def test_T201_one_that_was_seen_to_vanish_needs_no_question(lab):
    ars, _, al = scene(lab)
    lab.fold(ars, ScaleSetGone())
    assert tell(lab, lab.drive(al)) == [f"delete AL {LISTENER}", RELEASE]
    assert al.uid not in lab.world.listeners


def test_T201_a_deleting_scale_set_is_still_one(lab):
    _, _, al = up(lab, deleting=True)
    assert lab.drive(al) == []


def test_T202_a_stopped_listener_keeps_nothing_but_itself(lab):
    _, _, al = scene(lab)
    children(lab, al, proxy=True)
    lab.script("write Secret", SAME)
    lab.drive(al)
    lab.fold(al, ListenerSwitched(phase="Stopped"))
    assert tell(lab, lab.look(al).intents) == EVERYTHING


def test_T202_and_rests_then(lab):
    _, _, al = up(lab)
    lab.fold(al, ListenerSwitched(phase="Stopped"))
    assert tell(lab, lab.drive(al)) == [line for line in EVERYTHING if PROXY not in line]
    last = lab.last(al)
    assert (last.rule, last.verdict, last.wake_at) == ("L4", Verdict.HOLD, None)
    assert listener_of(lab, al).finalizers == (keys.LISTENER_FINALIZER,)
    lab.later(HOUR)
    lab.fold(al, ListenerSwitched(phase="Running"))
    assert tell(lab, lab.drive(al))[-2:] == [WRITE_CONFIG, CREATE_POD]


def test_T203_the_proxy_secret_goes_although_no_proxy_is_wanted_any_more(lab):
    _, _, al = scene(lab, al={"phase": "Stopped"})
    lab.dependent(Kind.SECRET, PROXY, namespace=CONTROLLER_NAMESPACE, stream=al)
    assert tell(lab, lab.drive(al)) == [f"delete Secret {PROXY}"]


def test_T204_a_secret_that_somebody_holds_is_looked_at_once_more_then_the_watch_tells(lab):
    _, _, al = scene(lab, al={"phase": "Stopped"})
    lab.dependent(Kind.SECRET, CONFIG, namespace=CONTROLLER_NAMESPACE, stream=al, finalizers=("foreign",))
    assert tell(lab, lab.drive(al)) == [f"delete Secret {CONFIG}"]
    assert lab.wake_at(al) == lab.now + 500 * MILLISECOND
    lab.later(500 * MILLISECOND)
    assert lab.drive(al) == []
    assert (lab.wake_at(al), lab.last(al).verdict) == (None, Verdict.WAIT)
    gone = find(lab, Kind.SECRET, CONFIG)
    lab.fold(al, DependentGone(kind=Kind.SECRET, namespace=gone.namespace, name=gone.name, uid=gone.uid))
    assert lab.drive(al) == []
    assert lab.last(al).verdict is Verdict.HOLD


def test_T205_a_deleted_listener_waits_for_its_pod_without_a_timer(lab):
    _, _, al = up(lab)
    pod = listener_of(lab, al).pod
    lab.fold(al, ListenerDeletionRequested(deletion_requested_at=lab.now))
    lab.fold(al, ListenerPodDeletionRequested(pod=replace(pod, deletion_requested_at=lab.now)))
    assert tell(lab, lab.drive(al)) == [line for line in EVERYTHING if PROXY not in line and line != DELETE_POD]
    # No polling: the one timer is the end of our patience with a node that may be dead (A9).
    patience = lab.world.settings.stuck_pod_after
    assert (lab.last(al).verdict, lab.wake_at(al)) == (Verdict.WAIT, lab.now + patience)
    lab.fold(al, ListenerPodGone(pod_uid=pod.uid))
    assert tell(lab, lab.drive(al)) == [RELEASE]


def test_L1_without_our_finalizer_it_is_not_ours(lab):
    _, _, al = up(lab)
    lab.fold(al, ListenerDeletionRequested(deletion_requested_at=lab.now))
    lab.fold(al, ListenerFinalizersChanged(finalizers=("foreign",)))
    assert lab.drive(al) == []


def test_T206_role_rules_edited_by_hand_are_patched_back(lab):
    _, _, al = up(lab)
    found = find(lab, Kind.ROLE, namespace=NAMESPACE)
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    change(lab, al, found, content=lab.doc({"rules": rules}))
    (patch,) = lab.drive(al)
    assert isinstance(patch, PatchObject)
    body = lab.patch_of(patch)
    assert list(body) == ["rules"]
    assert body["rules"][1]["verbs"] == ["get", "patch"]


def test_T207_a_foreign_annotation_is_nobodys_business(lab):
    _, _, al = up(lab)
    found = find(lab, Kind.SERVICE_ACCOUNT)
    metadata = lab.world.documents.mapping(found.metadata)
    change(lab, al, found, metadata=lab.doc({**metadata, "annotations": {"iam": "role"}}))
    assert lab.drive(al) == []


@pytest.mark.parametrize(
    ("kind", "namespace"), [(Kind.SERVICE_ACCOUNT, CONTROLLER_NAMESPACE), (Kind.ROLE_BINDING, NAMESPACE)]
)
def test_L5_L7_what_is_missing_from_metadata_is_merged_in(lab, kind, namespace):
    _, _, al = up(lab)
    change(lab, al, find(lab, kind, namespace=namespace), metadata=lab.doc({"labels": {"team": "x"}}))
    (patch,) = lab.drive(al)
    assert "team" not in lab.patch_of(patch)["metadata"]["labels"]
    assert keys.SCALE_SET_NAME in lab.patch_of(patch)["metadata"]["labels"]


# L8, L10


def test_T208_a_rotated_token_reaches_the_listener(lab):
    lab.dependent(Kind.SECRET, "cred")
    ars, _, al = up(lab)
    edit_secret(lab, ars, "cred", namespace=NAMESPACE)
    done = lab.drive(al)
    assert tell(lab, done) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]
    stamp = lab.patch_of(done[-1])["metadata"]["annotations"][keys.LISTENER_CONFIG_VERSION]
    assert stamp == find(lab, Kind.SECRET, CONFIG).resource_version


def test_T208_another_secret_of_the_namespace_does_not_touch_it(lab):
    lab.dependent(Kind.SECRET, "other")
    ars, _, al = up(lab)
    edit_secret(lab, ars, "other", namespace=NAMESPACE)
    assert lab.drive(al) == []


def test_H16_a_new_authority_reaches_it_as_well(lab):
    lab.dependent(Kind.CONFIG_MAP, "ca")
    tls = {"certificateFrom": {"configMapKeyRef": {"name": "ca", "key": "ca.crt"}}}
    ars, _, al = up(lab, githubServerTLS=tls)
    change(lab, ars, find(lab, Kind.CONFIG_MAP, "ca", NAMESPACE))
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


def test_H16_where_the_content_stays_the_same_nothing_restarts(lab):
    lab.dependent(Kind.SECRET, "cred")
    ars, _, al = up(lab)
    edit_secret(lab, ars, "cred", namespace=NAMESPACE)
    lab.script("write Secret", SAME)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG]


def test_L10_a_config_that_somebody_edited_is_composed_anew(lab):
    _, _, al = up(lab)
    lab.later(HOUR)
    edit_secret(lab, al, CONFIG)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


def test_T212_what_another_controller_wrote_is_compared_by_meaning_once(lab):
    _, _, al = adopted(lab)
    lab.script("write Secret", SAME)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG]
    assert lab.last(al).verdict is Verdict.SETTLED
    lab.later(HOUR)
    assert lab.drive(al) == []


def test_T227_limits_that_contradict_each_other_are_said_before_anything_is_written(lab):
    _, _, al = scene(lab, minRunners=5, maxRunners=2)
    done = tell(lab, lab.drive(al))
    assert WRITE_CONFIG not in done
    assert CREATE_POD not in done
    last = lab.last(al)
    assert (last.rule, last.verdict) == ("L10", Verdict.STALLED)
    assert "minRunners 5 is above maxRunners 2" in last.reason


def test_T228_a_config_that_can_not_be_composed_is_an_error(lab):
    _, _, al = scene(lab)
    lab.script("write Secret", Result(Outcome.INVALID, detail="config map ca has no key ca.crt"))
    done = tell(lab, lab.drive(al))
    assert (done[-1], CREATE_POD in done) == (WRITE_CONFIG, False)
    assert "no key ca.crt" in lab.last(al).reason
    assert lab.wake_at(al) == lab.now + SECOND


def test_T229_proxy_urls_are_composed_inside_the_effect(lab):
    """What they look like is tested with the manifests; here that nothing of them passes through a rule."""
    _, _, al = scene(lab, proxy=BEHIND_PROXY)
    done = lab.drive(al)
    assert tell(lab, done)[-3:] == [WRITE_PROXY, WRITE_CONFIG, CREATE_POD]
    assert "data" not in lab.patch_of(done[-3])
    assert done[-3].inputs == ""


def test_L8_data_of_a_proxy_secret_is_not_refreshed_but_its_metadata_is_merged(lab):
    _, _, al = up(lab, proxy=BEHIND_PROXY)
    lab.later(HOUR)
    edit_secret(lab, al, PROXY)
    assert lab.drive(al) == []
    edit_secret(lab, al, PROXY, metadata=lab.doc({"labels": {}}))
    assert tell(lab, lab.drive(al)) == [WRITE_PROXY]


def test_a_namespace_that_is_gone_is_no_hot_loop(lab):
    _, _, al = scene(lab)
    lab.script(CreateObject, Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(al)) == [f"create ServiceAccount {LISTENER}"]
    assert lab.wake_at(al) == lab.now + SECOND


# H27


def test_T232_two_failures_make_the_scale_set_ask_and_register_anew(lab):
    ars, _, al = up(lab)
    service(lab, ServiceCall.GET_SCALE_SET, Result(Outcome.NOT_FOUND))
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(8))
    end(lab, al, 1)
    assert lab.drive(ars) == []
    lab.later(15 * SECOND)
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]
    start(lab, al)
    end(lab, al, 1)
    done = tell(lab, lab.drive(ars))
    assert done[0] == "call get-scale-set id=7"
    assert done[1].startswith("call register-scale-set")
    assert f'"{keys.SCALE_SET_ID}":"8"' in done[2]


# Advice


@pytest.fixture
def advisory():
    return Lab(advisory=True)


def test_advice_for_a_new_listener_is_all_it_needs_at_once(advisory):
    _, _, al = scene(advisory)
    assert tell(advisory, advisory.look(al).intents) == [
        f"create ServiceAccount {LISTENER}",
        f"create Role {LISTENER}",
        f"create RoleBinding {LISTENER}",
        WRITE_CONFIG,
        CREATE_POD,
    ]
    advisory.later(HOUR)
    assert advisory.look(al) is None


def test_advice_does_not_nag_about_what_is_not_shown(advisory):
    _, _, al = adopted(advisory)
    for key in list(advisory.world.dependents):
        del advisory.world.dependents[key]
    decided = advisory.look(al)
    assert (decided.verdict, decided.intents) == (Verdict.SETTLED, ())


def test_advice_accepts_the_rights_that_older_controllers_grant(advisory):
    _, _, al = adopted(advisory)
    found = find(advisory, Kind.ROLE, namespace=NAMESPACE)
    rules = advisory.world.documents.mapping(found.content)["rules"]
    older = [{**rule, "verbs": ["patch"]} for rule in rules]
    change(advisory, al, found, content=advisory.doc({"rules": older}))
    assert advisory.look(al).verdict is Verdict.SETTLED
    change(advisory, al, found, content=advisory.doc({"rules": older[:1]}))
    assert [intent.key for intent in advisory.look(al).intents] == [f"patch Role {NAMESPACE}/{LISTENER}"]


def test_advice_waits_for_a_scale_set_that_was_not_seen_yet(advisory):
    al = advisory.listener()
    assert (advisory.look(al).verdict, advisory.last(al).rule) == (Verdict.WAIT, "L3")

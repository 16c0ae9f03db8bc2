"""Life of a scale set: version, finalizer, runner set, listener, rest (T001–T007, T017–T024, T037–T041, T056)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.listener import ListenerGone
from arcfsm.domain.events.runner_set import RevisionApplied
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.intents import CreateObject, ServiceCall
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.rules import decide
from tests.unit.rules.harness import LISTENER, Lab, Result
from tests.unit.rules.scenes import annotate, edit, registered, scene, service
from tests.unit.rules.telling import tell

NOT_FOUND = Result(Outcome.NOT_FOUND, status=404)
UNAVAILABLE = Result(Outcome.FAILED, status=503, detail="503 Service Unavailable")


@pytest.fixture
def lab():
    return Lab()


def first(lab, ars):
    """What one look wants, or nothing."""
    decided = lab.look(ars)
    return tell(lab, decided.intents) if decided is not None else []


def published(lab, ers):
    one = lab.world.runner_sets[ers.uid]
    return one.actionable_revision, lab.world.documents.mapping(one.runner_spec)


# A1, A3, A4


def test_T001_what_is_not_there_needs_nothing(lab):
    assert decide(lab.world, StreamId(AggregateKind.SCALE_SET, "ars-0"), lab.now) is None


@pytest.mark.parametrize(
    ("test", "label", "build", "allowed"),
    [
        ("T002", "0.13.0", "0.14.1", False),
        ("T003", "0.14.9", "0.14.1", True),
        ("T004", "", "dev", True),
        ("T005", "", "0.14.1", False),
        ("T006", "0.14", "0.14.3", True),
        ("T006", "00.14.3", "0.14.3", False),
        ("A3", "0.13.0", "canary-1234", True),
        ("A3", "anything", "anything", True),
        ("A3", "1", "1.0.7-rc1", True),
    ],
)
def test_T002_T003_T004_T005_T006_versions(test, label, build, allowed):
    lab = Lab(compatible_arc_version=build, delete_on_version_skew=True)
    ars = lab.scale_set(finalizer=False, labels={keys.VERSION_LABEL: label})
    decided = lab.look(ars)
    if allowed:
        assert decided.rule == "A4"
        assert not decided.findings
    else:
        assert tell(lab, decided.intents) == ["delete ARS demo"]
        assert [finding.code for finding in decided.findings] == ["VersionMismatch"]


def test_H36_nothing_is_deleted_for_its_version_by_default():
    lab = Lab(compatible_arc_version="0.14.1")
    ars = scene(lab, labels={keys.VERSION_LABEL: "0.13.0"}).ars
    assert lab.drive(ars) == []
    decided = lab.last(ars)
    assert (decided.verdict, decided.findings[0].code) == (Verdict.STALLED, "VersionMismatch")


def test_T007_our_finalizer_comes_first(lab):
    ars = lab.scale_set(finalizer=False)
    assert first(lab, ars) == [f'patch ARS {{"metadata":{{"finalizers":["{keys.SCALE_SET_FINALIZER}"]}}}}']


# A11, A17: runner set and listener


def test_T017_a_missing_runner_set_is_created_and_wants_nothing(lab):
    ars = scene(lab, without="ers al", g=1, o=0, phase="Pending").ars
    decided = lab.look(ars)
    assert tell(lab, decided.intents) == ["create ERS demo"]
    manifest = lab.patch_of(decided.intents[0])
    assert manifest["spec"]["patchID"] == 0
    assert "replicas" not in manifest["spec"]
    assert "actionableRevision" not in manifest["spec"]
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == ars.uid
    assert manifest["metadata"]["labels"] == {
        "app.kubernetes.io/version": "0.14.1",
        "app.kubernetes.io/part-of": "gha-runner-scale-set",
        "app.kubernetes.io/component": "runner-set",
        "actions.github.com/scale-set-name": "demo",
        "actions.github.com/scale-set-namespace": "arc-runners",
        "actions.github.com/organization": "acme",
        "actions.github.com/repository": "repo",
    }


def test_T018_a_listener_is_created_after_the_service_confirmed_the_scale_set(lab):
    ars = scene(lab, without="al").ars
    assert tell(lab, lab.drive(ars)) == ["call get-scale-set id=7", f"create AL {LISTENER}"]
    spec = lab.patch_of(lab.done[1])["spec"]
    assert spec["maxRunners"] == 2147483647
    assert "minRunners" not in spec
    assert "phase" not in spec


def test_T018_each_new_listener_asks_anew(lab):
    ars, _, al = scene(lab)
    for _ in range(2):
        al = lab.world.named(AggregateKind.LISTENER, "arc-systems", LISTENER)
        lab.fold(al, ListenerGone())
        lab.drive(ars)
    assert tell(lab, lab.done) == ["call get-scale-set id=7", f"create AL {LISTENER}"] * 2


def test_T019_T020_a_lost_registration_is_renewed_and_reaches_the_runner_set(lab):
    ars, _ers, _ = scene(lab, without="al")
    service(lab, ServiceCall.GET_SCALE_SET, NOT_FOUND, Result())
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(8))
    generation = lab.world.scale_sets[ars.uid].generation
    done = tell(lab, lab.drive(ars))
    assert done[:3] == [
        "call get-scale-set id=7",
        "call register-scale-set url=https://github.com/acme/repo group= name=demo labels=demo",
        (
            'patch ARS {"metadata":{"annotations":{"runner-scale-set-id":"8"},"labels":'
            '{"actions.github.com/organization":"acme","actions.github.com/repository":"repo"}}}'
        ),
    ]
    # T020: the new id arrives as an annotation; the generation did not move.
    assert done[3:] == [
        'patch ERS {"spec":{"ephemeralRunnerSpec":{"runnerScaleSetId":8},"actionableRevision":1}}',
        "call get-scale-set id=8",
        f"create AL {LISTENER}",
    ]
    assert lab.world.scale_sets[ars.uid].generation == generation


def test_T021_an_outage_never_registers_again(lab):
    ars = scene(lab, without="al").ars
    service(lab, ServiceCall.GET_SCALE_SET, UNAVAILABLE)
    assert tell(lab, lab.drive(ars)) == ["call get-scale-set id=7"]
    assert lab.last(ars).verdict is Verdict.WAIT


def test_A17_a_scale_set_found_by_name_under_the_same_id_is_there(lab):
    ars = scene(lab, without="al", labels={"actions.github.com/organization": "acme"}).ars
    annotate(lab, ars, "labels", **{"actions.github.com/repository": "repo"})
    service(lab, ServiceCall.GET_SCALE_SET, NOT_FOUND)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7))
    done = tell(lab, lab.drive(ars))
    assert [line.split()[1] for line in done if line.startswith("call")] == ["get-scale-set", "register-scale-set"]
    assert f"create AL {LISTENER}" in done


def test_A17_a_listener_that_exists_unseen_is_not_created_in_a_hot_loop(lab):
    ars = scene(lab, without="al").ars
    lab.script(CreateObject, Result(Outcome.ALREADY_EXISTS, status=409))
    lab.drive(ars)
    assert lab.wake_at(ars) == lab.now + SECOND


# A20, A7


def test_T022_where_everything_matches_the_generation_is_observed(lab):
    ars = scene(lab, g=3, o=2, phase="Pending").ars
    assert tell(lab, lab.drive(ars)) == ['patch ARS/status {"phase":"Running","observedGeneration":3}']


def test_T023_where_everything_matches_and_is_recorded_nothing_is_written(lab):
    ars = scene(lab, g=3, o=3).ars
    assert lab.drive(ars) == []
    assert lab.last(ars).verdict is Verdict.SETTLED


def test_T024_an_edit_of_the_limits_replaces_the_listener(lab):
    ars, _ers, _al = scene(lab, g=3, o=3)
    edit(lab, ars, maxRunners=30)
    assert first(lab, ars) == ['patch ARS/status {"phase":"Pending"}', f"delete AL {LISTENER}"]
    assert lab.last(ars).reason == "replacing the listener: /spec/maxRunners changed"
    assert lab.world.scale_sets[ars.uid].observed_generation == 3


def test_T024_observed_generation_waits_for_the_new_listener(lab):
    ars, _ers, al = scene(lab, g=3, o=3)
    edit(lab, ars, maxRunners=30)
    lab.drive(ars)
    assert lab.world.scale_sets[ars.uid].observed_generation == 3
    assert lab.last(ars).verdict is Verdict.WAIT
    lab.fold(al, ListenerGone())
    done = tell(lab, lab.drive(ars))
    assert done[-1] == 'patch ARS/status {"phase":"Running","observedGeneration":4}'


# A16, A18, A19: the listener


def test_T037_a_label_change_reaches_the_runner_set_first_and_then_the_listener(lab):
    ars, _ers, _al = scene(lab, g=3, o=3)
    annotate(lab, ars, "labels", team="x")
    assert tell(lab, lab.drive(ars)) == [
        'patch ERS {"metadata":{"labels":{"team":"x"}}}',
        'patch ARS/status {"phase":"Pending"}',
        f"delete AL {LISTENER}",
    ]
    assert lab.world.scale_sets[ars.uid].observed_generation == 3


def test_T038_a_stopped_listener_without_drift_is_started(lab):
    ars = scene(lab, al={"phase": "Stopped"}).ars
    assert tell(lab, lab.drive(ars)) == [f'patch AL {LISTENER} {{"spec":{{"phase":"Running"}}}}']


def test_T039_a_stale_stopped_listener_is_replaced_and_never_started(lab):
    ars, _, _al = scene(lab, al={"phase": "Stopped"})
    edit(lab, ars, minRunners=1, maxRunners=2)
    assert tell(lab, lab.drive(ars)) == ['patch ARS/status {"phase":"Pending"}', f"delete AL {LISTENER}"]


def test_T040_a_legacy_hash_on_the_listener_is_no_drift(lab):
    ars = scene(lab, al={"annotations": {"actions.github.com/integrity-hash": "abc"}}).ars
    assert lab.drive(ars) == []


def test_T041_a_renamed_listener_goes_before_its_successor_comes(lab):
    ars, _, al = scene(lab, runnerGroup="default")
    edit(lab, ars, runnerGroup="DEFAULT")
    assert tell(lab, lab.drive(ars)) == ['patch ARS/status {"phase":"Pending"}', "delete AL demo-6c54f496-listener"]
    assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A16", Verdict.WAIT)
    lab.fold(al, ListenerGone())
    assert tell(lab, lab.drive(ars))[:2] == ["call get-scale-set id=7", tell(lab, lab.done)[-2]]
    assert tell(lab, lab.done)[-2].startswith("create AL demo-")


def test_T056_recovery_starts_the_listener_and_then_settles(lab):
    ars, ers, _al = scene(
        lab, g=4, o=3, phase="Pending", ers={"r": (2, 1), "phase": "Outdated"}, al={"phase": "Stopped"}
    )
    lab.fold(ers, RevisionApplied(applied_revision=2))
    from arcfsm.domain.events.runner_set import RunnerSetPhaseChanged

    lab.fold(ers, RunnerSetPhaseChanged(phase="Running"))
    assert tell(lab, lab.drive(ars)) == [
        f'patch AL {LISTENER} {{"spec":{{"phase":"Running"}}}}',
        'patch ARS/status {"phase":"Running","observedGeneration":4}',
    ]


def test_H27_a_listener_that_fails_twice_makes_us_ask_whether_its_scale_set_exists(lab):
    from arcfsm.domain.events.listener import ListenerPodCreated

    ars, ers, al = scene(lab)
    for minute in (3, 2):
        lab.now -= minute * MINUTE
        lab.fold(al, ListenerPodCreated(pod=lab.pod("Failed", exit=1)))
        lab.now += minute * MINUTE
    service(lab, ServiceCall.GET_SCALE_SET, Result(), NOT_FOUND, Result())
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(8))
    assert tell(lab, lab.drive(ars)) == ["call get-scale-set id=7"]
    assert lab.drive(ars) == [], "once for each failure"
    lab.later(MINUTE)
    lab.fold(al, ListenerPodCreated(pod=lab.pod("Failed", exit=1)))
    done = tell(lab, lab.drive(ars))
    assert [line.split(" ", 2)[1] for line in done[:2]] == ["get-scale-set", "register-scale-set"]
    assert published(lab, ers)[0] == 1
    assert done[-1] == f"delete AL {LISTENER}"


def test_A13_an_invalid_url_of_a_registered_scale_set_stalls(lab):
    ars, _, _al = scene(lab)
    edit(lab, ars, githubConfigUrl="nonsense")
    assert tell(lab, lab.drive(ars)) == ['patch ARS/status {"phase":"Pending"}']
    assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A13", Verdict.STALLED)


def test_advice_says_all_steps_and_is_said_once():
    lab = Lab(advisory=True)
    ars = scene(lab, without="al").ars
    assert first(lab, ars) == ["call get-scale-set id=7", f"create AL {LISTENER}"]
    assert lab.look(ars) is None


def test_H27_failures_with_a_steady_run_in_between_raise_no_question(lab):
    from arcfsm.domain.events.listener import ListenerPodCreated

    ars, _, al = scene(lab)
    for minute in (30, 2):
        lab.now -= minute * MINUTE
        lab.fold(al, ListenerPodCreated(pod=lab.pod("Failed", exit=1)))
        lab.now += minute * MINUTE
    assert lab.drive(ars) == []


def test_advice_takes_a_lone_listener_of_another_name_for_the_current_one_until_it_is_renamed():
    lab = Lab(advisory=True)
    ars, _, _al = scene(lab, al={"name": "demo-redacted-listener"})
    lab.look(ars)
    assert lab.last(ars).verdict is Verdict.SETTLED
    lab.later(MINUTE)
    edit(lab, ars, runnerGroup="default")
    lab.look(ars)
    assert (lab.last(ars).rule, "delete AL demo-redacted-listener" in tell(lab, lab.last(ars).intents)) == ("A16", True)


def test_control_knows_its_listener_by_its_exact_name(lab):
    ars, _, _ = scene(lab, al={"name": "demo-redacted-listener"})
    assert tell(lab, lab.drive(ars)) == ["delete AL demo-redacted-listener"]

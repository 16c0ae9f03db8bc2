"""Life of a scale set: version, finalizer, registration, runner set, listener (T001–T041, T056; H13, H17, H27, H36)."""

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
    assert (decided.verdict, decided.findings[0].code) == (Verdict.SETTLED, "VersionMismatch")


def test_T007_our_finalizer_comes_first(lab):
    ars = lab.scale_set(finalizer=False)
    assert first(lab, ars) == [f'patch ARS {{"metadata":{{"finalizers":["{keys.SCALE_SET_FINALIZER}"]}}}}']


# A7, A8: registration


def test_T008_a_new_scale_set_is_registered_and_written_down(lab):
    ars = lab.scale_set(g=1, o=0, phase="", id=None, runnerScaleSetName=None)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7))
    done = tell(lab, lab.drive(ars, steps=4 + 10))[:3]
    assert done == [
        'patch ARS/status {"phase":"Pending"}',
        "call register-scale-set url=https://github.com/acme/repo group= name=demo labels=demo",
        'patch ARS {"metadata":{"annotations":{"runner-scale-set-id":"7",'
        '"actions.github.com/runner-scale-set-name":"demo","actions.github.com/runner-group-name":"default"},'
        '"labels":{"actions.github.com/organization":"acme","actions.github.com/repository":"repo"}},'
        '"spec":{"runnerScaleSetName":"demo"}}',
    ]


def test_T008_the_generation_is_observed_at_the_end_only(lab):
    ars = lab.scale_set(g=1, o=0, phase="", id=None)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7))
    lab.drive(ars)
    assert lab.last(ars).verdict is Verdict.SETTLED
    done = tell(lab, lab.done)
    assert [line for line in done if "observedGeneration" in line] == [done[-1]]
    assert done[-1] == 'patch ARS/status {"phase":"Running","observedGeneration":1}'


def test_T009_what_the_service_finds_is_written_down(lab):
    ars = lab.scale_set(id=None, runnerGroup="gpu")
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(9, group="gpu"))
    assert first(lab, ars) == [
        "call register-scale-set url=https://github.com/acme/repo group=gpu name=demo labels=demo"
    ]
    lab.drive(ars)
    assert lab.world.scale_sets[ars.uid].scale_set_id == 0, "asked already, and nobody carried it out"


def test_T009_drive(lab):
    ars = lab.scale_set(id=None, runnerGroup="gpu")
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(9, group="gpu"))
    lab.drive(ars)
    assert lab.world.scale_sets[ars.uid].scale_set_id == 9


def test_T010_labels_are_sent_once_each_with_the_name_first(lab):
    ars = lab.scale_set(id=None, runnerScaleSetLabels=["demo", "x", "x", "y"])
    assert first(lab, ars)[0].endswith("name=demo labels=demo,x,y")


@pytest.mark.parametrize("id", ["0", "abc", "-3", None])
def test_T011_an_unusable_id_means_registration(lab, id):
    ars = lab.scale_set(id=id)
    assert first(lab, ars)[0].startswith("call register-scale-set")


def test_T012_an_error_of_the_service_is_retried_later_and_nothing_is_written(lab):
    ars = lab.scale_set(id=None, runnerGroup="none")
    service(lab, ServiceCall.REGISTER_SCALE_SET, Result(Outcome.FAILED, detail="runner group `none` not found"))
    assert len(lab.drive(ars)) == 1
    decided = lab.last(ars)
    assert decided.verdict is Verdict.WAIT
    assert "runner group `none` not found" in decided.reason
    assert lab.wake_at(ars) == lab.now + SECOND


def test_A8_an_answer_from_before_the_annotation_was_removed_does_not_count(lab):
    ars = scene(lab, id=None).ars
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7), registered(8))
    lab.drive(ars)
    assert lab.world.scale_sets[ars.uid].scale_set_id == 7
    annotate(lab, ars, id=None)
    start = len(lab.done)
    lab.drive(ars)
    assert tell(lab, lab.done[start:])[0].startswith("call register-scale-set")
    assert lab.world.scale_sets[ars.uid].scale_set_id == 8


def test_A8_a_url_that_names_nothing_stalls_with_the_reason(lab):
    ars = lab.scale_set(id=None, githubConfigUrl="https://github.com")
    assert lab.drive(ars) == []
    assert lab.last(ars).verdict is Verdict.STALLED
    assert "https://github.com" in lab.last(ars).reason


# A9, A10: group and name


def test_T013_a_new_group_is_told_to_the_service(lab):
    ars = scene(lab, runnerGroup="GPU").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, registered(group="gpu"))
    assert tell(lab, lab.drive(ars))[:2] == [
        "call update-scale-set id=7 group=GPU",
        'patch ARS {"metadata":{"annotations":{"actions.github.com/runner-group-name":"gpu"}}}',
    ]


@pytest.mark.parametrize(
    ("test", "annotation", "spec"), [("T014", "Gpu", "gpu"), ("T015", "gpu", ""), ("T015", "gpu", None)]
)
def test_T014_T015_no_call_where_the_group_did_not_change(lab, test, annotation, spec):
    ars = scene(lab, annotations={keys.RUNNER_GROUP_NAME: annotation}, runnerGroup=spec).ars
    assert not any(line.startswith("call update") for line in tell(lab, lab.drive(ars)))


def test_T016_a_new_name_is_told_to_the_service(lab):
    ars = scene(lab, annotations={keys.RUNNER_SCALE_SET_NAME: "old"}, runnerScaleSetName="new").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, registered(name="new"))
    assert tell(lab, lab.drive(ars))[:2] == [
        "call update-scale-set id=7 name=new",
        'patch ARS {"metadata":{"annotations":{"actions.github.com/runner-scale-set-name":"new"}}}',
    ]


def test_A9_a_group_edited_there_and_back_is_asked_for_again(lab):
    ars = scene(lab, runnerGroup="gpu").ars
    service(
        lab, ServiceCall.UPDATE_SCALE_SET, registered(group="gpu"), registered(group="cpu"), registered(group="gpu")
    )
    lab.drive(ars)
    edit(lab, ars, runnerGroup="cpu")
    lab.drive(ars)
    edit(lab, ars, runnerGroup="gpu")
    lab.drive(ars)
    calls = [line for line in tell(lab, lab.done) if line.startswith("call update")]
    assert [call.rpartition("=")[2] for call in calls] == ["gpu", "cpu", "gpu"]


def test_A9_a_service_that_answers_another_group_stalls_instead_of_looping(lab):
    ars = scene(lab, runnerGroup="gpu").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, registered(group="default"))
    assert tell(lab, lab.drive(ars)) == ["call update-scale-set id=7 group=gpu"]
    assert lab.last(ars).verdict is Verdict.STALLED


def test_A10_a_name_that_is_written_nowhere_stalls(lab):
    ars = lab.scale_set(runnerScaleSetName="")
    annotate(lab, ars, **{keys.RUNNER_SCALE_SET_NAME: None})
    assert lab.drive(ars) == []
    assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A10", Verdict.STALLED)


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
    ars, ers, _ = scene(lab, without="al")
    service(lab, ServiceCall.GET_SCALE_SET, NOT_FOUND, Result())
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(8))
    generation = lab.world.scale_sets[ars.uid].generation
    done = tell(lab, lab.drive(ars))
    assert done[:3] == [
        "call get-scale-set id=7",
        "call register-scale-set url=https://github.com/acme/repo group= name=demo labels=demo",
        'patch ARS {"metadata":{"annotations":{"runner-scale-set-id":"8"},"labels":'
        '{"actions.github.com/organization":"acme","actions.github.com/repository":"repo"}}}',
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
    ars, ers, al = scene(lab, g=3, o=3)
    edit(lab, ars, maxRunners=30)
    assert first(lab, ars) == ['patch ARS/status {"phase":"Pending"}', f"delete AL {LISTENER}"]
    assert lab.last(ars).reason == "replacing the listener: /spec/maxRunners changed"
    assert lab.world.scale_sets[ars.uid].observed_generation == 3


def test_T024_observed_generation_waits_for_the_new_listener(lab):
    ars, ers, al = scene(lab, g=3, o=3)
    edit(lab, ars, maxRunners=30)
    lab.drive(ars)
    assert lab.world.scale_sets[ars.uid].observed_generation == 3
    assert lab.last(ars).verdict is Verdict.WAIT
    lab.fold(al, ListenerGone())
    done = tell(lab, lab.drive(ars))
    assert done[-1] == 'patch ARS/status {"phase":"Running","observedGeneration":4}'


# A14: revisions


def image(tag):
    return {"spec": {"containers": [{"name": "runner", "image": f"runner:{tag}"}]}}


@pytest.mark.parametrize(
    ("test", "revisions", "expected"), [("T025", (0, 0), 1), ("T026", (3, 2), 4), ("T027", (2, 5), 6)]
)
def test_T025_T026_T027_another_template_is_published_under_the_next_revision(lab, test, revisions, expected):
    ars, ers, _ = scene(lab, ers={"r": revisions})
    edit(lab, ars, template=image(2))
    assert first(lab, ars) == [
        'patch ARS/status {"phase":"Pending"}',
        'patch ERS {"spec":{"ephemeralRunnerSpec":{"spec":{"containers":[{"name":"runner","image":"runner:2"}]}},'
        f'"actionableRevision":{expected}}}}}',
    ]


def containers(**fields):
    return {"spec": {"containers": [{"name": "runner", "image": "runner:1", **fields}]}}


def spec(**fields):
    return {"spec": {"containers": [{"name": "runner", "image": "runner:1"}], **fields}}


ENV = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("test", "live", "wanted", "drift"),
    [
        ("T028", containers(), containers(env=[]), False),
        (
            "T029",
            containers(resources={"limits": {"cpu": "1"}}),
            containers(resources={"limits": {"cpu": "1000m"}}),
            False,
        ),
        ("T030", spec(), spec(securityContext={}), True),
        ("T031", spec(), spec(automountServiceAccountToken=False), True),
        ("T032", containers(), containers(resources={}), False),
        ("T033", containers(env=ENV), containers(env=ENV[::-1]), True),
    ],
)
def test_T028_T029_T030_T031_T032_T033_what_counts_as_another_spec(lab, test, live, wanted, drift):
    ars, ers, _ = scene(lab, template=live)
    edit(lab, ars, template=wanted)
    lab.drive(ars)
    assert published(lab, ers)[0] == (1 if drift else 0)


def test_H13_two_edits_before_the_first_is_applied_get_two_revisions(lab):
    ars, ers, _ = scene(lab)
    edit(lab, ars, template=image(2))
    lab.drive(ars)
    edit(lab, ars, template=image(3))
    lab.drive(ars)
    assert published(lab, ers)[0] == 2


def test_H17_content_that_the_api_does_not_keep_is_published_once(lab):
    ars, ers, _ = scene(lab)
    edit(lab, ars, template=spec(newField={"a": 1}))
    pruned = lab.world.runner_sets[ers.uid].runner_spec

    def prune(events):
        for stream, event in events:
            if type(event).__name__ == "RunnerSpecPublished":
                event = event.model_copy(update={"runner_spec": pruned})
            yield stream, event

    effect = lab.hands.effect
    lab.hands.effect = lambda *args: list(prune(effect(*args)))
    done = tell(lab, lab.drive(ars))
    assert len([line for line in done if line.startswith("patch ERS")]) == 1
    decided = lab.last(ars)
    assert (decided.rule, decided.verdict) == ("A14", Verdict.STALLED)
    assert [finding.code for finding in decided.findings] == ["DriftNotConverging"]
    assert "/ephemeralRunnerSpec/spec/newField" in decided.findings[0].text
    # Another edit is published, and so is a change that somebody else makes to what we published.
    edit(lab, ars, template=image(2))
    lab.hands.effect = effect
    lab.drive(ars)
    assert published(lab, ers)[0] == 2
    assert lab.last(ars).verdict is Verdict.SETTLED


def test_H17_a_hand_edit_of_the_runner_set_is_mended_though_its_content_was_published_before(lab):
    from arcfsm.domain.events.runner_set import RunnerSpecPublished

    ars, ers, _ = scene(lab)
    edit(lab, ars, template=image(2))
    lab.drive(ars)
    one = lab.world.runner_sets[ers.uid]
    tampered = {**lab.world.documents.mapping(one.runner_spec), "githubConfigSecret": "other"}
    lab.fold(ers, RunnerSpecPublished(runner_spec=lab.doc(tampered), actionable_revision=1))
    lab.drive(ars)
    assert published(lab, ers)[1]["githubConfigSecret"] == "cred"
    assert published(lab, ers)[0] == 2


def test_H14_idle_runners_of_another_spec_found_at_adoption_bump_the_revision_once(lab):
    ars, ers, _ = scene(lab)
    old = {"githubConfigUrl": "u", "runnerScaleSetId": 7, **image(0)}
    lab.runner("busy", "Running", of=ers, id=1, job=True, spec=old)
    assert lab.drive(ars) == []
    lab.runner("idle", of=ers, id=2, spec=old)
    assert tell(lab, lab.drive(ars)) == ['patch ERS {"spec":{"actionableRevision":1}}']
    assert [finding.code for decided in lab.decisions for finding in decided.findings] == ["AdoptionDrift"]


def test_H14_runners_that_match_but_for_their_proxy_secret_are_no_drift(lab):
    ars, ers, _ = scene(lab)
    same = {**lab.world.documents.mapping(lab.world.runner_sets[ers.uid].runner_spec), "proxySecretRef": "p"}
    lab.runner("idle", of=ers, id=2, spec=same)
    assert lab.drive(ars) == []


# A15: metadata of the runner set


def test_T034_metadata_for_new_runners_is_published_without_a_revision(lab):
    ars, ers, _ = scene(lab)
    edit(lab, ars, ephemeralRunnerMetadata={"labels": {"team": "x"}})
    done = tell(lab, lab.drive(ars))
    assert 'patch ERS {"spec":{"ephemeralRunnerMetadata":{"labels":{"team":"x"}}}}' in done
    assert published(lab, ers)[0] == 0


def test_T034_metadata_for_new_runners_that_is_no_longer_wanted_goes(lab):
    ars, ers, _ = scene(lab, ephemeralRunnerMetadata={"labels": {"team": "x"}})
    edit(lab, ars, ephemeralRunnerMetadata=None)
    assert 'patch ERS {"spec":{"ephemeralRunnerMetadata":null}}' in tell(lab, lab.drive(ars))
    assert lab.world.runner_sets[ers.uid].runner_metadata == ""


def test_T035_a_foreign_label_is_left_alone(lab):
    ars, ers, _ = scene(lab)
    one = lab.world.runner_sets[ers.uid]
    labels = {**lab.world.documents.mapping(one.metadata)["labels"], "team": "x"}
    from arcfsm.domain.events.runner_set import RunnerSetMetadataChanged

    metadata = {**lab.world.documents.mapping(one.metadata), "labels": labels}
    lab.fold(ers, RunnerSetMetadataChanged(metadata=lab.doc(metadata)))
    assert lab.drive(ars) == []


def test_T036_a_label_that_is_no_longer_wanted_stays(lab):
    ars, ers, al = scene(lab, labels={"a": "1"})
    annotate(lab, ars, "labels", a=None)
    assert not any("ERS" in line for line in tell(lab, lab.drive(ars)))


# A16, A18, A19: the listener


def test_T037_a_label_change_reaches_the_runner_set_first_and_then_the_listener(lab):
    ars, ers, al = scene(lab, g=3, o=3)
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
    ars, _, al = scene(lab, al={"phase": "Stopped"})
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
    ars, ers, al = scene(
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
    ars, _, al = scene(lab)
    edit(lab, ars, githubConfigUrl="nonsense")
    assert tell(lab, lab.drive(ars)) == ['patch ARS/status {"phase":"Pending"}']
    assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A13", Verdict.STALLED)


def test_advice_says_all_steps_and_is_said_once():
    lab = Lab(advisory=True)
    ars = scene(lab, without="al").ars
    assert first(lab, ars) == ["call get-scale-set id=7", f"create AL {LISTENER}"]
    assert lab.look(ars) is None

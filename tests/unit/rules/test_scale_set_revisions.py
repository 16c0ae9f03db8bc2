"""What a scale set publishes for its runners, and when it is another revision (T025–T036; H13, H14, H17)."""

from __future__ import annotations

import pytest

from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner_set import RunnerSetMetadataChanged, RunnerSpecPublished
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.scenes import annotate, edit, scene
from tests.unit.rules.telling import tell

NOT_FOUND = Result(Outcome.NOT_FOUND, status=404)


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


# A14, another revision


def image(tag):
    return {"spec": {"containers": [{"name": "runner", "image": f"runner:{tag}"}]}}


@pytest.mark.parametrize(
    ("test", "revisions", "expected"), [("T025", (0, 0), 1), ("T026", (3, 2), 4), ("T027", (2, 5), 6)]
)
def test_T025_T026_T027_another_template_is_published_under_the_next_revision(lab, test, revisions, expected):
    ars, _ers, _ = scene(lab, ers={"r": revisions})
    edit(lab, ars, template=image(2))
    assert first(lab, ars) == [
        'patch ARS/status {"phase":"Pending"}',
        (
            'patch ERS {"spec":{"ephemeralRunnerSpec":{"spec":{"containers":[{"name":"runner","image":"runner:2"}]}},'
            f'"actionableRevision":{expected}}}}}'
        ),
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
            kept = isinstance(event, RunnerSpecPublished)
            yield stream, event.model_copy(update={"runner_spec": pruned}) if kept else event

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
    metadata = {**lab.world.documents.mapping(one.metadata), "labels": labels}
    lab.fold(ers, RunnerSetMetadataChanged(metadata=lab.doc(metadata)))
    assert lab.drive(ars) == []


def test_T036_a_label_that_is_no_longer_wanted_stays(lab):
    ars, _ers, _al = scene(lab, labels={"a": "1"})
    annotate(lab, ars, "labels", a=None)
    assert not any("ERS" in line for line in tell(lab, lab.drive(ars)))

"""How people name objects, and what they are told where there is none of that name."""

from __future__ import annotations

import pytest

from arcfsm.audit.naming import UnknownObjectError, find_objects, find_scale_set, parse_kind
from arcfsm.domain.kinds import AggregateKind
from arcfsm.journal import Journal
from tests.unit.audit.control_story import control_story
from tests.unit.rules.harness import NAMESPACE


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('naming') / 'journal.db'}"
    control_story().write(url)
    with Journal.open(url, read_only=True) as opened:
        yield opened


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("runner", AggregateKind.RUNNER),
        ("Runners", AggregateKind.RUNNER),
        ("EphemeralRunner", AggregateKind.RUNNER),
        ("ephemeralrunners", AggregateKind.RUNNER),
        ("runner-set", AggregateKind.RUNNER_SET),
        ("runnerset", AggregateKind.RUNNER_SET),
        ("EPHEMERALRUNNERSETS", AggregateKind.RUNNER_SET),
        ("scale-set", AggregateKind.SCALE_SET),
        ("autoscalingrunnerset", AggregateKind.SCALE_SET),
        ("listener", AggregateKind.LISTENER),
        ("AutoscalingListeners", AggregateKind.LISTENER),
    ],
)
def test_kinds_have_kubernetes_names_plurals_and_short_words(word, kind):
    assert parse_kind(word) is kind


def test_an_unknown_kind_lists_those_there_are():
    with pytest.raises(UnknownObjectError, match="use one of scale-set, runner-set, runner, listener"):
        parse_kind("deployment")


def test_an_object_is_found_by_its_name(journal):
    (found,) = find_objects(journal, f"RunnerSet/{NAMESPACE}/demo")
    assert found.stream.kind is AggregateKind.RUNNER_SET
    assert found.title == f"runner-set {NAMESPACE}/demo"
    assert find_scale_set(journal, f"{NAMESPACE}/demo")[0].gone_seq is None


def test_a_pod_leads_to_the_runner_or_listener_it_belongs_to(journal):
    listener = find_objects(journal, "pod/arc-systems/demo-5f5c4d65-listener")
    assert listener[0].stream.kind is AggregateKind.LISTENER
    with pytest.raises(UnknownObjectError, match="no runner or listener with a pod"):
        find_objects(journal, "pods/arc-systems/nope")


@pytest.mark.parametrize("text", ["", "runner", "runner/only-one", "runner//x", "runner/x/"])
def test_what_is_no_name_is_told_with_an_example(journal, text):
    with pytest.raises(UnknownObjectError, match="is not KIND/NAMESPACE/NAME"):
        find_objects(journal, text)


def test_near_names_are_suggested_and_far_ones_are_not(journal):
    with pytest.raises(UnknownObjectError, match=f"did you mean {NAMESPACE}/demo"):
        find_objects(journal, f"runner-set/{NAMESPACE}/dem")
    with pytest.raises(UnknownObjectError) as refused:
        find_objects(journal, "runner-set/zzz/qqq")
    assert "did you mean" not in str(refused.value)

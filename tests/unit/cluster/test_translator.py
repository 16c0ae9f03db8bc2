"""From objects to events: each fact once, in our words, whatever order and shape the words came in."""

from __future__ import annotations

from typing import Any

import pytest

from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain.envelope import Source
from arcfsm.domain.instant import HOUR, SECOND
from arcfsm.domain.kinds import AggregateKind, Kind
from arcfsm.domain.observation import Change, Observation, RefusedError, Scope, Translation
from arcfsm.domain.turn import run_turn
from arcfsm.domain.world import World
from tests.unit.cluster.objects import NOON, Cluster


class Bench:
    """A world and a translator; says what each word adds."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.world = World()
        self.translator = ObjectTranslator()
        self.events: list[Any] = []

    def tell(self, change: str, obj: Any, *, at: int = NOON, listed: bool = False) -> list[str]:
        translation = self.translate(change, obj, at=at, listed=listed)
        turn = run_turn(self.world, translation.arrivals, recorded_at=at)
        told = turn.events[: len(translation.arrivals)]
        self.events += told
        return [type(one.event).__name__ for one in told]

    def translate(self, change: str, obj: Any, *, at: int = NOON, listed: bool = False) -> Translation:
        seen = Observation(change=Change(change), object=obj, source=Source.WATCH, at=at, listed=listed)
        return self.translator.translate(self.world, seen)

    def write(self, obj: Any, **parts: Any) -> Any:
        return self.cluster.write(obj, **parts)


@pytest.fixture
def bench():
    return Bench()


def test_added_while_watching_is_created(bench):
    assert bench.tell("ADDED", bench.cluster.scale_set()) == ["ScaleSetCreated"]


@pytest.mark.parametrize("how", ["listed", "late", "modified", "old generation", "deleting"])
def test_everything_else_is_observed(bench, how):
    obj = bench.cluster.scale_set()
    if how == "old generation":
        obj["metadata"]["generation"] = 4
    if how == "deleting":
        obj["metadata"]["deletionTimestamp"] = "2026-12-01T12:00:00Z"
    at = NOON + HOUR if how == "late" else NOON
    change = "MODIFIED" if how == "modified" else "ADDED"
    assert bench.tell(change, obj, at=at, listed=how == "listed") == ["ScaleSetObserved"]


def test_the_same_version_again_is_no_news(bench):
    obj = bench.cluster.scale_set()
    bench.tell("ADDED", obj)
    assert bench.translate("ADDED", obj).noise == "known already"
    assert bench.translate("MODIFIED", obj).noise == "known already"


def test_a_late_version_does_not_undo_a_later_one(bench):
    first = bench.cluster.runner_set()
    second = bench.write(first, spec={**first["spec"], "replicas": 3, "patchID": 1})
    third = bench.write(second, metadata={**second["metadata"], "managedFields": [{"manager": "x"}]})
    bench.tell("ADDED", first)
    assert bench.tell("MODIFIED", second) == ["RunnerSetScaled"]
    assert bench.translate("MODIFIED", third).noise == "changes nothing the rules look at"
    assert bench.translate("MODIFIED", second).noise == "older than what is known"
    assert bench.world.runner_sets["EphemeralRunnerSet-demo"].replicas == 3


def test_versions_that_are_no_numbers_are_compared_for_equality_only(bench):
    obj = bench.cluster.runner_set()
    obj["metadata"]["resourceVersion"] = "zz"
    bench.tell("ADDED", obj)
    other = bench.write(obj, spec={**obj["spec"], "replicas": 2})
    other["metadata"]["resourceVersion"] = "aa"
    assert bench.tell("MODIFIED", other) == ["RunnerSetScaled"]
    assert bench.translate("MODIFIED", other).noise == "known already"


def test_a_gone_object_does_not_come_back(bench):
    obj = bench.cluster.scale_set()
    bench.tell("ADDED", obj)
    assert bench.tell("DELETED", bench.write(obj)) == ["ScaleSetGone"]
    assert bench.translate("ADDED", bench.write(obj)).noise == "about an object that is gone"
    assert bench.translate("DELETED", bench.write(obj)).noise == "about an object that is gone"


def test_an_object_of_which_only_the_end_is_seen_was_there(bench):
    assert bench.tell("DELETED", bench.cluster.runner("r1", phase="Running")) == ["RunnerObserved", "RunnerGone"]
    assert not bench.world.runners


def test_a_last_word_may_bring_news(bench):
    runner = bench.cluster.runner("r1")
    bench.tell("ADDED", runner)
    bench.tell("ADDED", bench.cluster.pod(runner, phase="Running", state={"running": {}}))
    ended = bench.cluster.pod(runner, phase="Failed", state={"terminated": {"exitCode": 7}})
    assert bench.tell("DELETED", ended) == ["RunnerPodTerminated", "RunnerPodGone"]


def test_a_new_object_under_the_name_of_an_old_one_shows_a_missed_deletion(bench):
    bench.tell("ADDED", bench.cluster.runner("r1", uid="old"))
    bench.cluster.now += 60 * SECOND
    told = bench.tell("ADDED", bench.cluster.runner("r1", uid="new"), at=NOON + 60 * SECOND)
    assert told == ["GapDetected", "RunnerGone", "RunnerCreated"]
    assert bench.world.runner_named("ci", "r1").uid == "new"


def test_a_late_word_about_the_former_owner_of_a_name_is_dropped(bench):
    old = bench.cluster.runner("r1", uid="old")
    bench.cluster.now += 60 * SECOND
    bench.tell("ADDED", bench.cluster.runner("r1", uid="new"), at=NOON + 60 * SECOND)
    assert not bench.translate("MODIFIED", old).arrivals


def test_pod_facts_are_named_by_what_changed(bench):
    runner = bench.cluster.runner("r1")
    bench.tell("ADDED", runner)
    pod = bench.cluster.pod(runner)
    told = bench.tell("ADDED", pod)
    told += bench.tell("MODIFIED", bench.cluster.pod(runner, state={"waiting": {"reason": "ContainerCreating"}}))
    told += bench.tell("MODIFIED", bench.cluster.pod(runner, phase="Running", state={"running": {}}))
    deleting = bench.cluster.pod(runner, phase="Running", state={"running": {}})
    deleting["metadata"] |= {"deletionTimestamp": "2026-12-01T12:00:35Z", "deletionGracePeriodSeconds": 30}
    told += bench.tell("MODIFIED", deleting)
    again = bench.write(deleting)
    again["metadata"] |= {"deletionTimestamp": "2026-12-01T12:00:06Z", "deletionGracePeriodSeconds": 0}
    assert bench.translate("MODIFIED", again).noise == "changes nothing the rules look at"
    ended = bench.write(
        again,
        status={
            "phase": "Failed",
            "containerStatuses": [{"name": "runner", "state": {"terminated": {"exitCode": 143}}}],
        },
    )
    told += bench.tell("MODIFIED", ended)
    told += bench.tell("DELETED", bench.write(ended))
    assert told == [
        "RunnerPodCreated",
        "RunnerPodChanged",
        "RunnerPodStarted",
        "RunnerPodDeletionRequested",
        "RunnerPodTerminated",
        "RunnerPodGone",
    ]
    requested = next(one.event.pod for one in bench.events if type(one.event).__name__ == "RunnerPodDeletionRequested")
    assert requested.deletion_requested_at == NOON + 5 * SECOND


def test_a_pod_bound_to_a_node_is_no_event_of_a_runner(bench):
    runner = bench.cluster.runner("r1")
    bench.tell("ADDED", runner)
    pod = bench.cluster.pod(runner)
    bench.tell("ADDED", pod)
    bound = bench.write(pod, spec={**pod["spec"], "nodeName": "node-1"})
    assert bench.translate("MODIFIED", bound).noise == "changes nothing the rules look at"


def test_an_evicted_pod_has_ended_without_its_container(bench):
    runner = bench.cluster.runner("r1")
    bench.tell("ADDED", runner)
    pod = bench.cluster.pod(runner)
    bench.tell("ADDED", pod)
    evicted = bench.write(pod, status={"phase": "Failed", "reason": "Evicted"})
    assert bench.tell("MODIFIED", evicted) == ["RunnerPodTerminated"]


def test_order_between_objects_does_not_matter(bench):
    """Pod, Secret and runner first, their owners afterwards: the same world in the end."""
    cluster = bench.cluster
    scale_set, runner_set, runner = cluster.scale_set(), cluster.runner_set(), cluster.runner("r1")
    credentials, jit = cluster.secret("credentials"), cluster.secret("r1", of=runner)
    pod = cluster.pod(runner)
    objects = [scale_set, runner_set, runner, credentials, jit, pod]
    for one in objects:
        bench.tell("ADDED", one)
    backwards = Bench()
    for one in reversed(objects):
        backwards.tell("ADDED", one)
    for world in (bench.world, backwards.world):
        assert world.runners["EphemeralRunner-r1"].pod.uid == "Pod-r1"
        assert world.dependent(Kind.SECRET, "ci", "credentials").uid == "Secret-credentials"
        assert world.dependent(Kind.SECRET, "ci", "r1") is not None
    assert {str(one.stream) for one in bench.events} == {str(one.stream) for one in backwards.events}


def test_dependents_of_nobody_leave_no_trace(bench):
    account = bench.cluster.make("ServiceAccount", "default", api="v1")
    assert bench.translate("ADDED", account).noise == "none of our objects"
    assert bench.translate("ADDED", bench.cluster.secret("other")).noise == "none of our objects"


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"auto-scaling-listener-name": "demo-listener", "auto-scaling-listener-namespace": "arc"}},
        {"finalizers": ["actions.github.com/cleanup-protection"]},
    ],
)
def test_dependents_that_are_marked_are_kept_though_nobody_owns_them(bench, metadata):
    role = bench.cluster.make(
        "Role", "r", api="rbac.authorization.k8s.io/v1", metadata=metadata, rules=[{"verbs": ["get"]}]
    )
    assert bench.tell("ADDED", role) == ["DependentObserved"]
    assert str(bench.events[-1].stream) == "controller/arcfsm"
    changed = bench.write(role, rules=[{"verbs": ["get", "patch"]}])
    assert bench.tell("MODIFIED", changed) == ["DependentChanged"]
    assert bench.translate("MODIFIED", bench.write(changed)).noise == "changes nothing the rules look at"
    assert bench.tell("DELETED", bench.write(changed)) == ["DependentGone"]


def test_a_role_belongs_to_the_listener_its_labels_name(bench):
    bench.tell("ADDED", bench.cluster.listener())
    labels = {"auto-scaling-listener-name": "demo-listener", "auto-scaling-listener-namespace": "arc"}
    role = bench.cluster.make("Role", "r", api="rbac.authorization.k8s.io/v1", metadata={"labels": labels}, rules=[])
    bench.tell("ADDED", role)
    assert bench.events[-1].stream.kind is AggregateKind.LISTENER


def test_a_new_version_of_a_secret_is_a_change_though_its_content_is_not_seen(bench):
    bench.tell("ADDED", bench.cluster.scale_set())
    secret = bench.cluster.secret("credentials")
    assert bench.tell("ADDED", secret) == ["DependentObserved"]
    assert bench.tell("MODIFIED", bench.write(secret)) == ["DependentChanged"]


def test_older_schemas_are_read_as_what_they_mean(bench):
    runner = bench.cluster.runner(
        "r1", failures={"pod-a": True, "pod-b": False}, runnerId="12", runnerJITConfig="x" * 200
    )
    runner["metadata"]["annotations"]["actions.github.com/patch-id"] = "many"
    assert bench.tell("ADDED", runner) == ["RunnerCreated"]
    state = bench.world.runners["EphemeralRunner-r1"]
    assert (state.phase, state.runner_id, state.patch_id) == ("", 12, 0)
    assert [(one.pod_uid, one.at) for one in state.failures] == [("pod-a", NOON)]
    again = bench.write(runner)
    assert bench.translate("MODIFIED", again, at=NOON + HOUR).noise == "changes nothing the rules look at"


def test_nulls_and_wrong_shapes_are_nothing(bench):
    obj = bench.cluster.make(
        "EphemeralRunner", "odd", spec=None, status=[], metadata={"labels": None, "finalizers": {}}
    )
    assert bench.tell("ADDED", obj) == ["RunnerCreated"]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"metadata": None}, "has no name"),
        ({"metadata": {"name": "x"}}, "has no uid"),
        ({"metadata": {"name": "x", "uid": "u", "creationTimestamp": "yesterday"}}, "creationTimestamp is not a time"),
    ],
)
def test_what_cannot_be_understood_is_refused(bench, broken, says):
    with pytest.raises(RefusedError, match=says):
        bench.translate("ADDED", {**bench.cluster.runner("r1"), **broken})


def test_unknown_kinds_are_counted_by_name(bench):
    noise = bench.translate("ADDED", bench.cluster.make("Deployment", "d", api="apps/v1")).noise
    assert noise == "of unknown kind Deployment.apps"
    assert (
        "actions.summerwind.dev"
        in bench.translate("ADDED", bench.cluster.make("Runner", "d", api="actions.summerwind.dev/v1alpha1")).noise
    )


def test_a_deletion_moves_the_generation_but_is_no_edit(bench):
    obj = bench.cluster.scale_set()
    bench.tell("ADDED", obj)
    metadata = {**obj["metadata"], "generation": 2, "deletionTimestamp": "2026-12-01T12:00:00Z"}
    assert bench.tell("MODIFIED", bench.write(obj, metadata=metadata)) == ["ScaleSetDeletionRequested"]


def test_wishes_and_births_carry_the_incarnation_of_the_listener(bench):
    cluster = bench.cluster
    listener = cluster.listener()
    for one in (cluster.scale_set(), listener, cluster.pod(listener)):
        bench.tell("ADDED", one)
    runner_set = cluster.runner_set()
    bench.tell("ADDED", runner_set)
    bench.tell("MODIFIED", bench.write(runner_set, spec={**runner_set["spec"], "replicas": 2, "patchID": 1}))
    assert bench.events[-1].event.incarnation == "Pod-demo-listener"
    bench.tell("ADDED", cluster.runner("r1", patch_id=1))
    assert bench.events[-1].event.incarnation == "Pod-demo-listener"
    bench.tell("ADDED", cluster.runner("r2", patch_id=9))
    assert bench.events[-1].event.incarnation == ""


def test_a_runner_older_than_the_listener_pod_was_born_for_another(bench):
    cluster = bench.cluster
    old = cluster.runner("r1", patch_id=1)
    cluster.now += HOUR
    listener = cluster.listener()
    for one in (cluster.scale_set(), listener, cluster.pod(listener), cluster.runner_set(replicas=1, patch_id=1), old):
        bench.tell("ADDED", one, at=NOON + HOUR, listed=True)
    assert bench.world.runner_sets["EphemeralRunnerSet-demo"].incarnation == "Pod-demo-listener"
    assert bench.world.runners["EphemeralRunner-r1"].incarnation == ""


def test_the_author_is_who_wrote_what_changed_last(bench):
    obj = bench.cluster.runner_set()
    obj["metadata"]["managedFields"] = [
        {"manager": "controller", "time": "2026-12-01T12:00:00Z", "fieldsV1": {"f:spec": {"f:patchID": {}}}}
    ]
    bench.tell("ADDED", obj)
    assert bench.events[-1].actor == "controller"
    scaled = bench.write(obj, spec={**obj["spec"], "replicas": 2})
    scaled["metadata"]["managedFields"].append(
        {"manager": "listener", "time": "2026-12-01T12:00:09Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    )
    bench.tell("MODIFIED", scaled)
    assert bench.events[-1].actor == "listener"
    freed = bench.write(scaled)
    freed["metadata"]["finalizers"] = ["other"]
    bench.tell("MODIFIED", freed)
    assert bench.events[-1].actor == "", "nobody's write covers the finalizers: unknown is what we say"


def test_what_a_list_does_not_hold_is_gone(bench):
    cluster = bench.cluster
    kept, lost = cluster.runner("kept"), cluster.runner("lost")
    for one in (kept, lost, cluster.pod(kept), cluster.pod(lost), cluster.secret("lost", of=lost)):
        bench.tell("ADDED", one)
    listed = {"EphemeralRunner-kept", "Pod-kept"}
    scopes = [Scope(Kind.RUNNER, "ci"), Scope(Kind.POD, "ci")]
    gone = [type(one.event).__name__ for one in bench.translator.missing(bench.world, scopes, listed)]
    assert gone == ["RunnerPodGone", "RunnerGone"], "nothing is said of Secrets: they were not listed"
    elsewhere = bench.translator.missing(bench.world, [Scope(Kind.RUNNER, "other")], set())
    assert not list(elsewhere)


def test_after_a_new_count_of_versions_lower_ones_are_news(bench):
    obj = bench.cluster.runner_set()
    bench.tell("ADDED", obj)
    restored = bench.write(obj, spec={**obj["spec"], "replicas": 5})
    restored["metadata"]["resourceVersion"] = "3"
    assert bench.translate("ADDED", restored, listed=True).noise == "older than what is known"
    bench.translator.restart_versions(bench.world)
    assert bench.tell("ADDED", restored, listed=True) == ["RunnerSetScaled"]

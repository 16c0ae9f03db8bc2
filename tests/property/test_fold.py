"""Properties of the fold: pure, indifferent to snapshots, and machines that agree with the facts after any history."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from arcfsm.domain import phases
from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import listener, runner, runner_set, scale_set
from arcfsm.domain.facts import ContainerFacts, Job, PodFacts, PodFailure
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.snapshot import freeze, thaw
from arcfsm.domain.world import World

SET = StreamId(AggregateKind.RUNNER_SET, "ers-1")
SCALE_SET = StreamId(AggregateKind.SCALE_SET, "ars-1")
RUNNERS = [StreamId(AggregateKind.RUNNER, f"er-{number}") for number in range(3)]
LISTENERS = [StreamId(AggregateKind.LISTENER, f"al-{number}") for number in range(2)]

containers = st.none() | st.builds(
    ContainerFacts,
    state=st.sampled_from(["waiting", "running", "terminated"]),
    exit_code=st.sampled_from([None, 0, 1, 7]),
)
pods = st.builds(
    PodFacts,
    uid=st.sampled_from(["pod-1", "pod-2"]),
    created_at=st.just(0),
    phase=st.sampled_from(["", "Pending", "Running", "Succeeded", "Failed"]),
    reason=st.sampled_from(["", "Evicted"]),
    container=containers,
)
moments = st.none() | st.integers(0, 10)


def runner_facts(kind):
    return st.builds(
        kind,
        namespace=st.just("ns"),
        name=st.sampled_from(["a", "b"]),
        created_at=st.integers(0, 5),
        owner_uid=st.just("ers-1"),
        owner_name=st.just("demo"),
        metadata=st.just(""),
        spec=st.just(""),
        patch_id=st.integers(0, 2),
        phase=st.sampled_from(phases.RUNNER_PHASES),
        deletion_requested_at=moments,
    )


runner_events = st.one_of(
    runner_facts(runner.RunnerCreated),
    runner_facts(runner.RunnerObserved),
    st.builds(runner.RunnerPhaseChanged, phase=st.sampled_from(phases.RUNNER_PHASES)),
    st.builds(runner.RunnerJobAssigned, job=st.just(Job(job_id="job"))),
    st.builds(runner.RunnerFailuresRecorded, failures=st.just((PodFailure("pod-1", 1),))),
    st.builds(runner.RunnerDeletionRequested, deletion_requested_at=st.integers(0, 10)),
    st.builds(runner.RunnerGone),
    st.builds(runner.RunnerPodGone, pod_uid=st.sampled_from(["pod-1", "pod-2"])),
    *(
        st.builds(kind, pod=pods)
        for kind in (
            runner.RunnerPodCreated,
            runner.RunnerPodStarted,
            runner.RunnerPodTerminated,
            runner.RunnerPodChanged,
        )
    ),
)
set_events = st.one_of(
    st.builds(
        runner_set.RunnerSetObserved,
        namespace=st.just("ns"),
        name=st.just("demo"),
        created_at=st.just(0),
        owner_uid=st.just("ars-1"),
        owner_name=st.just("demo"),
        metadata=st.just(""),
        runner_spec=st.just(""),
        phase=st.sampled_from(phases.RUNNER_SET_PHASES),
    ),
    st.builds(runner_set.RunnerSetScaled, replicas=st.integers(0, 3), patch_id=st.integers(0, 2)),
    st.builds(runner_set.RunnerSpecPublished, runner_spec=st.just(""), actionable_revision=st.integers(0, 3)),
    st.builds(runner_set.RevisionApplied, applied_revision=st.integers(0, 3)),
    st.builds(runner_set.RunnerSetPhaseChanged, phase=st.sampled_from(phases.RUNNER_SET_PHASES)),
    st.builds(runner_set.RunnerSetDeletionRequested, deletion_requested_at=st.integers(0, 10)),
)
listener_events = st.one_of(
    st.builds(
        listener.ListenerObserved,
        namespace=st.just("arc"),
        name=st.sampled_from(["l", "m"]),
        created_at=st.integers(0, 5),
        scale_set_namespace=st.just("ns"),
        scale_set_name=st.just("demo"),
        spec=st.just(""),
        metadata=st.just(""),
        phase=st.sampled_from(phases.LISTENER_PHASES),
    ),
    st.builds(listener.ListenerSwitched, phase=st.sampled_from(phases.LISTENER_PHASES)),
    st.builds(listener.ListenerPodStarted, pod=pods),
    st.builds(listener.ListenerPodTerminated, pod=pods),
    st.builds(listener.ListenerPodGone, pod_uid=st.sampled_from(["pod-1", "pod-2"])),
    st.builds(listener.ListenerGone),
)
scale_set_events = st.one_of(
    st.builds(
        scale_set.ScaleSetObserved,
        namespace=st.just("ns"),
        name=st.just("demo"),
        created_at=st.just(0),
        generation=st.integers(1, 3),
        spec=st.just(""),
        metadata=st.just(""),
        scale_set_id=st.integers(0, 2),
        phase=st.sampled_from(phases.SCALE_SET_PHASES),
    ),
    st.builds(scale_set.ScaleSetPhaseChanged, phase=st.sampled_from(phases.SCALE_SET_PHASES)),
    st.builds(scale_set.ScaleSetMetadataChanged, metadata=st.just(""), scale_set_id=st.integers(0, 2)),
    st.builds(scale_set.ScaleSetDeletionRequested, deletion_requested_at=st.integers(0, 10)),
)
histories = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(RUNNERS), runner_events),
        st.tuples(st.just(SET), set_events),
        st.tuples(st.sampled_from(LISTENERS), listener_events),
        st.tuples(st.just(SCALE_SET), scale_set_events),
    ),
    max_size=60,
)


def journaled(world, stream, event):
    return JournaledEvent(
        seq=world.head + 1,
        turn=world.head + 1,
        stream=stream,
        version=world.versions.get(stream, 0) + 1,
        event=event,
        recorded_at=world.head,
        source=Source.WATCH,
        resource_version=str(world.head),
    )


def possible(world, stream, event):
    """A cluster never creates an object twice, revives it, renames it, or takes a deletion back.

    And a name belongs to one object at a time.
    """
    known = world.aggregate(stream)
    name = getattr(event, "name", None)
    if name is not None and world.named(stream.kind, event.namespace, name) not in (None, stream):
        return False
    if (
        name is not None
        and known is not None
        and known.present
        and (known.namespace, known.name) != (event.namespace, name)
    ):
        return False
    if stream in world.closed or (known is not None and known.state == "gone"):
        return False
    if known is None or not known.present:
        return not type(event).__name__.endswith(("Gone", "Changed", "Requested")) or "Pod" in type(event).__name__
    if type(event).__name__.endswith("Created") and "Pod" not in type(event).__name__:
        return False
    return not (known.deleting and getattr(event, "deletion_requested_at", 0) is None)


def fold(history, world=None):
    world = world or World(Documents())
    for stream, event in history:
        if not possible(world, stream, event):
            continue
        world.apply(journaled(world, stream, event))
    return world


@given(histories)
@settings(max_examples=200)
def test_the_same_history_gives_the_same_world(history):
    assert freeze(fold(history)) == freeze(fold(history))


@given(histories, histories)
@settings(max_examples=200)
def test_going_on_from_a_snapshot_equals_folding_everything(before, after):
    whole = fold(before + after)
    resumed = fold(after, thaw(freeze(fold(before))))
    assert freeze(resumed) == freeze(whole)
    assert resumed.runners_of("ers-1") == whole.runners_of("ers-1")
    assert resumed.listeners_of("ns", "demo") == whole.listeners_of("ns", "demo")
    assert resumed.runner_set_named("ns", "demo") == whole.runner_set_named("ns", "demo")


@given(histories)
@settings(max_examples=300)
def test_the_state_of_a_runner_agrees_with_its_facts(history):
    for one in fold(history).runners.values():
        if one.state in ("unseen", "gone"):
            assert not one.present
            continue
        assert (one.state == "releasing") == one.deleting
        if one.state in ("busy", "idle", "starting"):
            assert one.pod is not None
        if one.state == "lost":
            assert one.pod is None
            assert one.has_job
        if one.state == "backing-off":
            assert one.pod is None
            assert one.failures


@given(histories)
@settings(max_examples=200)
def test_the_states_of_sets_and_listeners_agree_with_their_facts(history):
    world = fold(history)
    for one in world.runner_sets.values():
        if one.present:
            assert (one.state in ("outdated", "recovering")) == (one.phase == phases.OUTDATED and not one.deleting)
            assert (one.state in ("applying", "recovering")) == (one.unapplied and not one.deleting)
    for one in world.listeners.values():
        if one.present:
            assert (one.state in ("stopping", "parked")) == one.stopped
            assert one.state != "up" or one.pod is not None
    for one in world.scale_sets.values():
        if one.present and not one.deleting:
            assert (one.state == "parked") == (one.phase == phases.OUTDATED)


@given(histories)
def test_indexes_hold_exactly_what_is_present(history):
    world = fold(history)
    listed = {one.uid for one in world.runners_of("ers-1")}
    assert listed == {one.uid for one in world.runners.values() if one.present}
    for one in world.runners.values():
        if one.present:
            named = world.runner_named(one.namespace, one.name)
            assert named is not None
            assert named.name == one.name

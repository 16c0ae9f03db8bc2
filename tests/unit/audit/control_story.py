"""A short story in control mode: a scale set is made, two runners are wished for, then none any more."""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events.controller import SettingsDeclared
from arcfsm.domain.events.dependent import DependentObserved
from arcfsm.domain.events.runner_set import RunnerSetScaled
from arcfsm.domain.events.scale_set import ScaleSetCreated
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.intents import RegisterRunner
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, Kind, StreamId
from arcfsm.domain.world import World
from arcfsm.journal import Batch, Journal
from tests.unit.rules.harness import NAMESPACE, NOON, TEMPLATE, URL, Lab, Result

SCALE_SET = StreamId(AggregateKind.SCALE_SET, "scale-set-of-the-story")
STEPS_MAX = 200


class Story(Lab):
    """A laboratory in which everything that arcfsm decides is carried out at once, and that can be journaled."""

    def __init__(self) -> None:
        super().__init__()
        self.script("register-scale-set", Result(answer={"id": 7, "name": "demo", "group": "default"}))
        self.script("get-scale-set", Result(answer={"id": 7, "name": "demo", "group": "default"}))
        self.script(RegisterRunner, self._registered)
        self._registrations = 0
        settings = SettingsDeclared(settings=self.world.settings, advisory=False, rules_version="test")
        self.events.append(
            JournaledEvent(
                seq=1,
                turn=1,
                stream=CONTROLLER_STREAM,
                version=1,
                event=settings,
                recorded_at=NOON,
                source=Source.OPERATOR,
            )
        )

    def _registered(self, intent: RegisterRunner) -> Result:
        self._registrations += 1
        return Result(answer={"runner_id": self._registrations, "runner_name": intent.name})

    def happen(self, stream: StreamId, event: DomainEvent) -> None:
        """Somebody else does something, and arcfsm does what follows."""
        queue = self._wanted(self.observe(stream, event), stream, only=False)
        for _ in range(STEPS_MAX):
            if not queue:
                return
            queue += self._carry_out(*queue.pop(0), stream, only=False)
        raise AssertionError("the story does not settle")

    def runner_set_stream(self) -> StreamId:
        found = self.world.named(AggregateKind.RUNNER_SET, NAMESPACE, "demo")
        assert found is not None
        return found

    def write(self, url: str) -> None:
        """Journal the story."""
        world = World(self.world.documents)
        moved = [transition for one in self.events if (transition := world.apply(one)) is not None]
        with Journal.open(url, create=True) as journal:
            journal.claim_epoch("story")
            journal.append(Batch(events=self.events, transitions=moved), self.world.documents.get)


def control_story() -> Story:
    """Tell the story."""
    story = Story()
    spec = {
        "githubConfigUrl": URL,
        "githubConfigSecret": "cred",
        "runnerScaleSetName": "demo",
        "template": TEMPLATE,
    }
    metadata = {"labels": {keys.VERSION_LABEL: "0.14.1"}, "annotations": {}}
    credentials = DependentObserved(
        kind=Kind.SECRET,
        namespace=NAMESPACE,
        name="cred",
        uid="cred",
        resource_version="1",
        metadata=story.doc({"labels": {}, "annotations": {}}),
    )
    story.happen(CONTROLLER_STREAM, credentials)
    story.happen(
        SCALE_SET,
        ScaleSetCreated(
            namespace=NAMESPACE,
            name="demo",
            created_at=story.now,
            generation=1,
            spec=story.doc(spec),
            metadata=story.doc(metadata),
        ),
    )
    for replicas, patch_id in ((2, 1), (0, 0)):
        story.later(2 * MINUTE + SECOND)
        story.happen(story.runner_set_stream(), RunnerSetScaled(replicas=replicas, patch_id=patch_id))
    return story

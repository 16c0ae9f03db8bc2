"""The machines: complete, reachable, and compiled faithfully."""

from __future__ import annotations

from itertools import product

import pytest

from arcfsm.domain import phases
from arcfsm.domain.events import EVENT_TYPES
from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.machines import MACHINES, build
from arcfsm.domain.machines.drawing import dot, mermaid, table

EVERY = pytest.mark.parametrize("spec", MACHINES.values(), ids=[kind.value for kind in MACHINES])
PHASES = {
    AggregateKind.SCALE_SET: phases.SCALE_SET_PHASES,
    AggregateKind.RUNNER_SET: phases.RUNNER_SET_PHASES,
    AggregateKind.RUNNER: phases.RUNNER_PHASES,
    AggregateKind.LISTENER: phases.LISTENER_PHASES,
}


@EVERY
def test_every_state_is_reachable(spec):
    reached, before = {spec.initial}, set()
    while reached != before:
        before = set(reached)
        reached |= {move.dest for move in spec.moves if reached & set(move.sources)}
    assert reached == {state.name for state in spec.states}


@EVERY
def test_every_state_has_an_exit_or_is_declared_final(spec):
    exits = {source for move in spec.moves for source in move.sources if source != move.dest}
    assert exits == {state.name for state in spec.states if not state.final}


@EVERY
def test_every_trigger_is_a_domain_event_and_every_guard_is_declared_and_used(spec):
    assert set(spec.triggers) <= set(EVENT_TYPES)
    assert {guard for move in spec.moves for guard in move.guards} == set(spec.guards)


@pytest.mark.parametrize("kind", MACHINES, ids=[kind.value for kind in MACHINES])
def test_every_phase_of_the_crd_is_some_state(kind):
    assert {phase for state in MACHINES[kind].states for phase in state.phases} == set(PHASES[kind])


@EVERY
def test_the_last_move_of_a_state_and_trigger_may_be_unguarded_and_no_other(spec):
    seen_unguarded = set()
    for move in spec.moves:
        for source in move.sources:
            assert (source, move.trigger) not in seen_unguarded, (
                f"{source} --{move.trigger}--> {move.dest} is unreachable"
            )
            if not move.guards:
                seen_unguarded.add((source, move.trigger))


class Model:
    """What `transitions` drives: guards answer as the test says."""

    def __init__(self, guards):
        self.outcomes = dict.fromkeys(guards, False)
        for guard in guards:
            setattr(self, guard, lambda guard=guard: self.outcomes[guard])


@EVERY
def test_the_compiled_table_steps_as_the_transitions_machine_for_every_state_trigger_and_guard_outcome(spec):
    model = Model(spec.guards)
    machine = build(spec, model)
    name_of = {function: guard for guard, function in spec.guards.items()}
    for state, trigger in product([state.name for state in spec.states], spec.triggers):
        compiled = spec._table.get((state, trigger), ())
        asked = sorted({name_of[guard] for guards, _ in compiled for guard in guards})
        for outcome in product((False, True), repeat=len(asked)):
            model.outcomes.update(zip(asked, outcome, strict=True))
            machine.set_state(state)
            machine.events[trigger].trigger(model)
            passes = (dest for guards, dest in compiled if all(model.outcomes[name_of[guard]] for guard in guards))
            assert next(passes, state) == model.state, (state, trigger, outcome)


@EVERY
def test_drawings_name_every_state(spec):
    for draw in (table, mermaid, dot):
        assert all(state.name in draw(spec) for state in spec.states)
    assert mermaid(spec).startswith("stateDiagram-v2")

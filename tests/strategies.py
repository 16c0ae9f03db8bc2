"""Hypothesis strategies for domain events, built from the models themselves."""

from __future__ import annotations

from hypothesis import strategies as st

from arcfsm.domain.events import DomainEvent
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.settings import ControllerSettings


def events(cls: type[DomainEvent]) -> st.SearchStrategy[DomainEvent]:
    """Events of one type with every field drawn, defaults included."""
    special = {ControllerSettings: st.just(ControllerSettings())}
    fields = {
        name: special.get(info.annotation, st.from_type(info.annotation)) for name, info in cls.model_fields.items()
    }
    return st.builds(cls, **fields)


def streams() -> st.SearchStrategy[StreamId]:
    """Streams of every kind of aggregate."""
    return st.builds(StreamId, st.sampled_from(AggregateKind), st.text("abcdef0123456789-", min_size=1, max_size=8))

"""Every event survives the journal, whatever it holds, and every form ever written stays readable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arcfsm.domain.events import EVENT_TYPES
from arcfsm.domain.kinds import StreamId
from arcfsm.journal import JournalDamagedError, JournalTooNewError
from arcfsm.journal.codec import UPCASTERS, decode, encode, register_upcaster
from tests.strategies import events, streams

GOLDEN = Path(__file__).parents[1] / "golden" / "events"

st.register_type_strategy(StreamId, streams())
st.register_type_strategy(str, st.text(max_size=12))
st.register_type_strategy(int, st.integers(-(2**53), 2**53))


@pytest.mark.parametrize("name", EVENT_TYPES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_event_survives_the_round_trip(name, data):
    cls = EVENT_TYPES[name]
    event = data.draw(events(cls))
    payload = encode(event)
    again = decode(name, cls.schema_number, payload)
    assert again == event
    assert encode(again) == payload, "the bytes are canonical: reading and writing again changes nothing"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_every_form_ever_written_stays_readable(path):
    golden = json.loads(path.read_text("utf-8"))
    event = decode(golden["type"], golden["schema"], json.dumps(golden["payload"]))
    assert as_far_as_told(json.loads(event.model_dump_json()), golden["reads"]) == golden["reads"]


def as_far_as_told(now, then):
    """What is read now without fields that came since: those have defaults and keep the schema number."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {key: as_far_as_told(value, then[key]) for key, value in now.items() if key in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [as_far_as_told(*pair) for pair in zip(now, then, strict=True)]
    return now


def test_every_type_has_a_golden_file_of_every_schema_up_to_its_own():
    have = {path.stem for path in GOLDEN.glob("*.json")}
    wanted = {f"{name}.{number}" for name, cls in EVENT_TYPES.items() for number in range(1, cls.schema_number + 1)}
    assert wanted <= have, "write it with `python tests/golden/write.py`"


def test_an_older_form_is_lifted_step_by_step(monkeypatch):
    cls = EVENT_TYPES["ScaleSetPhaseChanged"]
    monkeypatch.setattr(cls, "schema_number", 3)
    monkeypatch.setattr("arcfsm.journal.codec.UPCASTERS", UPCASTERS)
    register_upcaster("ScaleSetPhaseChanged", 1)(lambda old: {"state": old["was_called"]})
    register_upcaster("ScaleSetPhaseChanged", 2)(lambda old: {"phase": old["state"]})
    try:
        assert decode("ScaleSetPhaseChanged", 1, '{"was_called": "Running"}').phase == "Running"
        assert decode("ScaleSetPhaseChanged", 2, '{"state": "Pending"}').phase == "Pending"
        with pytest.raises(ValueError, match="two upcasters"):
            register_upcaster("ScaleSetPhaseChanged", 1)(dict)
    finally:
        del UPCASTERS["ScaleSetPhaseChanged", 1], UPCASTERS["ScaleSetPhaseChanged", 2]


@pytest.mark.parametrize(
    ("name", "schema", "payload", "kind"),
    [
        ("RunnerTeleported", 1, "{}", JournalTooNewError),
        ("RunnerGone", 99, "{}", JournalTooNewError),
        ("ScaleSetPhaseChanged", 1, "{}", JournalDamagedError),
        ("ScaleSetPhaseChanged", 1, "not json", JournalDamagedError),
        ("ScaleSetPhaseChanged", 0, "{}", JournalDamagedError),
    ],
)
def test_what_can_not_be_read_says_so_in_one_line(name, schema, payload, kind):
    with pytest.raises(kind) as caught:
        decode(name, schema, payload)
    assert "\n" not in str(caught.value)

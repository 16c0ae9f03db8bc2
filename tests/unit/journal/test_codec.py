"""Payloads: one text for equal events, and defaults that never change under their number."""

from __future__ import annotations

import json

import pytest

from arcfsm.domain.events.controller import SettingsDeclared
from arcfsm.domain.events.decision import IntentSettled, Outcome
from arcfsm.domain.settings import ControllerSettings
from arcfsm.journal import JournalDamagedError
from arcfsm.journal.codec import decode, encode, register_upcaster
from tests.golden.defaults import PATH, defaults


def settled(**answer):
    return IntentSettled(decision=1, index=0, key="k", outcome=Outcome.OK, answer=answer)


def test_equal_events_have_equal_bytes_whatever_order_a_map_was_filled_in():
    assert settled(a=1, b=2) == settled(b=2, a=1)
    assert encode(settled(a=1, b=2)) == encode(settled(b=2, a=1))


def test_keys_are_sorted_and_nothing_stands_between_tokens():
    assert encode(settled(z=1, a="é")) == ('{"answer":{"a":"é","z":1},"decision":1,"index":0,"key":"k","outcome":"ok"}')


def test_no_default_of_an_event_has_changed():
    golden, now = json.loads(PATH.read_text("utf-8")), defaults()
    changed = [
        f"{name}.{field}: {value!r} became {now[name].get(field, 'required')!r}"
        for name, fields in golden.items()
        for field, value in fields.items()
        if name in now and now[name].get(field, ...) != value
    ]
    assert not changed, "an event stored without this field would say something else now; see tests/golden/defaults.py"


def test_every_default_is_pinned():
    golden = json.loads(PATH.read_text("utf-8"))
    missing = [
        f"{name}.{field}"
        for name, fields in defaults().items()
        for field in fields
        if field not in golden.get(name, {})
    ]
    assert not missing, "write it with `python tests/golden/defaults.py`"


def test_settings_say_what_was_in_force_whatever_the_defaults_become():
    told = SettingsDeclared(settings=ControllerSettings(), advisory=True, rules_version="1")
    stored = json.loads(encode(told))["settings"]
    assert stored.keys() == ControllerSettings.model_fields.keys()


@pytest.mark.parametrize("payload", ["[]", "{}", "not json"])
def test_an_old_form_that_can_not_be_lifted_is_one_line(monkeypatch, payload):
    cls = SettingsDeclared
    monkeypatch.setattr(cls, "schema_number", 2)
    monkeypatch.setattr("arcfsm.journal.codec.UPCASTERS", {})
    with pytest.raises(JournalDamagedError, match="SettingsDeclared") as caught:
        decode("SettingsDeclared", 1, payload)
    assert "\n" not in str(caught.value)


def test_an_upcaster_that_fails_is_one_line(monkeypatch):
    monkeypatch.setattr(SettingsDeclared, "schema_number", 2)
    monkeypatch.setattr("arcfsm.journal.codec.UPCASTERS", lifted := {})
    register_upcaster("SettingsDeclared", 1)(lambda old: {"settings": old["setings"]})
    assert ("SettingsDeclared", 1) in lifted
    with pytest.raises(JournalDamagedError, match="can't be lifted: KeyError"):
        decode("SettingsDeclared", 1, "{}")

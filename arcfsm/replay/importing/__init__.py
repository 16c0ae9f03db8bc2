"""Importers: journals from what people have. Which files there are, what they say, and the loop that takes it in."""

from arcfsm.replay.collector import patient_collector
from arcfsm.replay.importing.adoption import Adoption
from arcfsm.replay.importing.importer import BATCH_EVENTS, Importer, Plan
from arcfsm.replay.importing.standing import contents_known
from arcfsm.replay.importing.survey import Survey, survey
from arcfsm.replay.importing.tally import Refused, Tally
from arcfsm.replay.importing.texts import SourceFile, UnreadableSourceError

__all__ = [
    "BATCH_EVENTS",
    "Adoption",
    "Importer",
    "Plan",
    "Refused",
    "SourceFile",
    "Survey",
    "Tally",
    "UnreadableSourceError",
    "contents_known",
    "patient_collector",
    "survey",
]

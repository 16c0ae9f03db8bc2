"""Write a golden file for every event type whose present schema has none: `python tests/golden/write.py`.

A golden file is a promise: never edit one. When an event's schema number grows, its old file stays and an upcaster
must read it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from arcfsm.domain.events import EVENT_TYPES, DomainEvent
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.journal.codec import encode

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.strategies import events  # a script: the path comes first

FOLDER = Path(__file__).parent / "events"


def sample(cls: type[DomainEvent]) -> DomainEvent:
    """Return one event whose fields are all filled in, the same at every run."""
    st.register_type_strategy(StreamId, st.just(StreamId(AggregateKind.RUNNER, "5a751c65")))
    st.register_type_strategy(str, st.sampled_from(["ci-linux", "Pending", "5a751c65"]))
    st.register_type_strategy(int, st.integers(1, 9_999))
    found: list[DomainEvent] = []

    @seed(1)
    @settings(
        max_examples=40,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(events(cls))
    def collect(event: DomainEvent) -> None:
        found.append(event)

    collect()
    return max(found, key=lambda event: (len(encode(event)) < 1_500, len(encode(event))))


def main() -> None:
    """Write what is missing."""
    FOLDER.mkdir(exist_ok=True)
    for name, cls in EVENT_TYPES.items():
        path = FOLDER / f"{name}.{cls.schema_number}.json"
        if path.exists():
            continue
        event = sample(cls)
        golden = {
            "type": name,
            "schema": cls.schema_number,
            "payload": json.loads(encode(event)),
            "reads": json.loads(event.model_dump_json()),
        }
        path.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

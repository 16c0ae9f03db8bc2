"""Every shared recording of a real API server, replayed against the simulated one in this process.

The page docs/simulator.md lists the recordings that are known to differ. The list is exact: a listed recording that
passes is as much an error as an unlisted one that fails.
"""

from __future__ import annotations

import pytest

from tests.conformance.deviations import listed
from tests.conformance.recorded import InProcess, cases, needs, replayer

ALL = cases()
DEVIATIONS = listed()
_servers = {}


def server(mode):
    if mode not in _servers:
        _servers[mode] = InProcess(replayer(), mode)
    return _servers[mode]


def replay(case, number, transport):
    runner = transport.replay.Runner(transport, case, f"conf{number}", event_wait=0.01, quiet=0.0)
    return runner.run()


@pytest.mark.parametrize(("number", "case"), list(enumerate(ALL)), ids=[case["name"] for case in ALL])
def test_case(number, case):
    mode = needs(case)
    if mode is None:
        pytest.skip("a recording of a vendor's build")
    problems = replay(case, number, server(mode))
    if case["name"] in DEVIATIONS:
        assert problems, f"{case['name']} passes: take it off the list in docs/simulator.md"
        return
    shown = "\n".join(f"{path}\n  want {str(want)[:300]}\n  got  {str(got)[:300]}" for path, want, got in problems[:8])
    assert not problems, shown


def test_listed_deviations_are_recordings():
    assert not DEVIATIONS - {case["name"] for case in ALL}


def test_no_deviation_where_the_controller_relies_on_it():
    second = {"dryrun", "output", "serviceaccount", "ssa"}
    assert not {name.partition("/")[0] for name in DEVIATIONS} - second


def test_same_seed_same_answers():
    # Two servers that were told the same answer the same to the byte, uids and suffixes included.
    chosen = [case for case in ALL if needs(case) == "plain" and case["area"] in {"create", "delete", "patch"}][:40]

    def answers():
        transport = InProcess(replayer(), "plain")
        seen = []
        original = transport.request

        def request(req):
            response = original(req)
            seen.append((response.status, response.raw))
            return response

        transport.request = request
        for number, case in enumerate(chosen):
            replay(case, number, transport)
        return seen

    assert answers() == answers()

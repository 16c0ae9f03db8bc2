"""X3, X4, X6: the calls as they go over the wire and what answers mean (rules.md T418)."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcfsm import __version__
from arcfsm.domain.exchange import FailureKind, RunnerReference, ScaleSetReference, ServiceFailure
from arcfsm.engine.ports import ActionsPort, ActionsService
from tests.unit.actions.scripted import BASE, Scripted, answer, listing, refused, run

DEMO = {"id": 5, "name": "demo", "runnerGroupId": 1, "runnerGroupName": "Default", "labels": []}
RUNNER = {"id": 9, "name": "r", "runnerScaleSetId": 5}
GROUP = {"id": 4, "name": "gpu", "size": 0, "isDefaultGroup": False}


def asked(request):
    """A request as (verb, path below the base, query without the version, body)."""
    parts = urlsplit(request.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    assert query.pop("api-version") == "6.0-preview"
    path = f"{parts.scheme}://{parts.netloc}{parts.path}".removeprefix(f"{BASE}/_apis/")
    return request.method, path, query, json.loads(request.body) if request.body else None


CALLS = [
    (
        lambda service: service.find_scale_set("demo", ""),
        [listing(DEMO)],
        ScaleSetReference(5, "demo", "Default"),
        [("GET", "runtime/runnerscalesets", {"runnerGroupId": "1", "name": "demo"}, None)],
    ),
    (lambda service: service.find_scale_set("demo", ""), [listing()], None, None),
    (
        lambda service: service.find_scale_set("demo", "gpu"),
        [listing(GROUP), listing(DEMO)],
        ScaleSetReference(5, "demo", "Default"),
        [
            ("GET", "runtime/runnergroups/", {"groupName": "gpu"}, None),
            ("GET", "runtime/runnerscalesets", {"runnerGroupId": "4", "name": "demo"}, None),
        ],
    ),
    (
        lambda service: service.get_scale_set(5),
        [answer(200, DEMO)],
        ScaleSetReference(5, "demo", "Default"),
        [("GET", "runtime/runnerscalesets/5", {}, None)],
    ),
    (
        lambda service: service.create_scale_set("demo", "", ("x", "demo", "x", "y")),
        [answer(200, DEMO)],
        ScaleSetReference(5, "demo", "Default"),
        [
            (
                "POST",
                "runtime/runnerscalesets",
                {},
                {
                    "name": "demo",
                    "runnerGroupId": 1,
                    "labels": [{"type": "System", "name": name} for name in ("demo", "x", "y")],
                    "RunnerSetting": {"disableUpdate": True},
                },
            )
        ],
    ),
    (
        lambda service: service.update_scale_set(5, name="new"),
        [answer(200, {**DEMO, "name": "new"})],
        ScaleSetReference(5, "new", "Default"),
        [("PATCH", "runtime/runnerscalesets/5", {}, {"name": "new", "RunnerSetting": {"disableUpdate": True}})],
    ),
    (
        lambda service: service.update_scale_set(5, group="gpu"),
        [listing(GROUP), answer(200, {**DEMO, "runnerGroupName": "gpu"})],
        ScaleSetReference(5, "demo", "gpu"),
        [
            ("GET", "runtime/runnergroups/", {"groupName": "gpu"}, None),
            ("PATCH", "runtime/runnerscalesets/5", {}, {"runnerGroupId": 4, "RunnerSetting": {"disableUpdate": True}}),
        ],
    ),
    (
        lambda service: service.delete_scale_set(5),
        [answer(204)],
        None,
        [("DELETE", "runtime/runnerscalesets/5", {}, None)],
    ),
    (lambda service: service.delete_scale_set(5), [refused(404)], None, None),
    (
        lambda service: service.find_runner("r"),
        [listing(RUNNER)],
        RunnerReference(9, "r", 5),
        [("GET", "distributedtask/pools/0/agents", {"agentName": "r"}, None)],
    ),
    (lambda service: service.find_runner("r"), [listing()], None, None),
    (
        lambda service: service.remove_runner(9),
        [answer(204)],
        None,
        [("DELETE", "distributedtask/pools/0/agents/9", {}, None)],
    ),
]


@pytest.mark.parametrize(("call", "answers", "expected", "wire"), CALLS)
def test_X3_calls(call, answers, expected, wire):
    world = Scripted(*answers)
    assert run(call(world.service())) == expected
    if wire is not None:
        assert [asked(request) for request in world.calls] == wire


def test_R10_a_just_in_time_configuration():
    world = Scripted(answer(200, {"runner": RUNNER, "encodedJITConfig": "Y29uZmln"}))
    found = run(world.service().jit_configuration(5, "r", "/work"))
    assert (found.runner, found.encoded) == (RunnerReference(9, "r", 5), "Y29uZmln")
    body = {"name": "r", "workFolder": "/work"}
    assert asked(world.calls[0]) == ("POST", "runtime/runnerscalesets/5/generatejitconfig", {}, body)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_X3_names_arrive_as_they_are(name):
    world = Scripted(listing(GROUP), listing(DEMO), listing())
    service = world.service()
    run(service.find_scale_set(name, name))
    run(service.find_runner(name))
    found = [parse_qs(urlsplit(request.url).query, keep_blank_values=True) for request in world.calls]
    assert [next(iter({*query} & {"groupName", "name", "agentName"})) for query in found] == [
        "groupName",
        "name",
        "agentName",
    ]
    assert found[0]["groupName"] == found[1]["name"] == found[2]["agentName"] == [name]
    assert all(request.url.isascii() for request in world.calls)


def test_X3_X6_the_user_agent_says_who_asks_and_for_which_scale_set():
    world = Scripted(listing(), listing())
    clients = world.clients()
    from tests.unit.actions.scripted import access

    run(clients.service(access()).find_runner("r"))
    run(clients.service(access(), scale_set_id=5).find_runner("r"))
    first, second = (json.loads(request.headers["user-agent"]) for request in world.calls)
    assert first == {
        "system": "actions-runner-controller",
        "version": __version__,
        "commit_sha": "",
        "scale_set_id": 0,
        "subsystem": "gha-scale-set-controller",
        "build_version": __version__,
        "build_commit_sha": "",
        "kind": "scaleset",
    }
    assert second == {**first, "scale_set_id": 5}
    assert len(world.logins) == 2, "one client serves both"
    assert all(request.headers["content-type"] == "application/json" for request in world.requests)


def test_X3_an_answer_may_begin_with_a_byte_order_mark():
    body = b"\xef\xbb\xbf" + json.dumps(DEMO).encode()
    assert run(Scripted(answer(200, body)).service().get_scale_set(5)).id == 5


LONG = "GitHub.DistributedTask.WebApi.TaskAgent{}, GitHub.DistributedTask.WebApi"
REFUSALS = [
    (refused(409, LONG.format("ExistsException")), FailureKind.RUNNER_EXISTS),
    (refused(500, "AgentNotFoundException"), FailureKind.NOT_FOUND),
    (refused(400, LONG.format("JobStillRunningException")), FailureKind.BUSY),
    (refused(400), FailureKind.INVALID),
    (refused(422), FailureKind.INVALID),
    (refused(401), FailureKind.UNAUTHORIZED),
    (refused(403), FailureKind.UNAUTHORIZED),
    (refused(404), FailureKind.NOT_FOUND),
    (refused(407), FailureKind.UNREACHABLE),
    (refused(409), FailureKind.CONFLICT),
    (refused(429, retry_after="60"), FailureKind.THROTTLED),
    (refused(403, retry_after="60"), FailureKind.THROTTLED),
    (refused(501), FailureKind.FAILED),
    (answer(404), FailureKind.NOT_FOUND),
    (answer(404, b"gone", content_type="text/plain"), FailureKind.NOT_FOUND),
    (answer(404, b"<html>", content_type="text/html; charset=utf-8"), FailureKind.UNREACHABLE),
    (answer(301, None, location="https://elsewhere"), FailureKind.INVALID),
]


@pytest.mark.parametrize(("said", "kind"), REFUSALS)
def test_X4_kinds_of_refusals(said, kind):
    world = Scripted(*[said] * 4)
    with pytest.raises(ServiceFailure) as caught:
        run(world.service().remove_runner(9))
    assert (caught.value.kind, caught.value.status) == (kind, said.status)


def test_T418_an_agent_that_is_not_found_is_not_found():
    world = Scripted(refused(404, LONG.format("NotFoundException"), "Agent 9 not found."))
    with pytest.raises(ServiceFailure, match="TaskAgentNotFoundException: Agent 9 not found") as caught:
        run(world.service().remove_runner(9))
    assert caught.value.kind is FailureKind.NOT_FOUND


def test_X4_the_traces_of_the_service_are_in_the_message():
    world = Scripted(refused(409, "", "one\nline", activityid="a-1", x_github_request_id="r-2"))
    with pytest.raises(ServiceFailure) as caught:
        run(world.service().remove_runner(9))
    assert str(caught.value) == ("remove runner: HTTP 409 (ActivityId a-1, X-GitHub-Request-Id r-2): one line")


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (answer(409, b"plain words\r\n", content_type="text/plain"), "remove runner: HTTP 409: plain words"),
        (answer(409, b"{broken"), "remove runner: HTTP 409: {broken"),
        (answer(409, b'{"message": "m"}'), "remove runner: HTTP 409: m"),
        (answer(409, b"\xff\xfe"), "remove runner: HTTP 409: ��"),
        (answer(409), "remove runner: HTTP 409"),
    ],
)
def test_X4_other_bodies_are_told_as_they_are(said, detail):
    with pytest.raises(ServiceFailure) as caught:
        run(Scripted(said).service().remove_runner(9))
    assert str(caught.value) == detail


def test_X4_a_long_answer_is_cut():
    with pytest.raises(ServiceFailure) as caught:
        run(Scripted(answer(409, b"words " * 10_000)).service().remove_runner(9))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda service: service.get_scale_set(5), answer(200, b"<html>")),
        (lambda service: service.get_scale_set(5), answer(200, {})),
        (lambda service: service.get_scale_set(5), answer(200, {"id": 0, "name": "demo"})),
        (lambda service: service.get_scale_set(5), answer(204)),
        (lambda service: service.find_runner("r"), answer(200, {})),
        (lambda service: service.find_runner("r"), answer(200, {"count": 0, "value": None})),
        (lambda service: service.find_runner("r"), listing({"name": "r"})),
        (lambda service: service.jit_configuration(5, "r", ""), answer(200, {"runner": RUNNER})),
        (lambda service: service.jit_configuration(5, "r", ""), answer(200, {"encodedJITConfig": "x"})),
    ],
)
def test_an_answer_that_lacks_what_was_asked_for_is_none(call, said):
    # Above all it is not "there is no such runner".
    with pytest.raises(ServiceFailure) as caught:
        run(call(Scripted(said).service()))
    assert caught.value.kind is FailureKind.UNREACHABLE


@pytest.mark.parametrize(
    ("call", "answers", "kind"),
    [
        (lambda service: service.find_scale_set("d", "nope"), [listing()], FailureKind.NOT_FOUND),
        (lambda service: service.create_scale_set("d", "nope", ()), [listing()], FailureKind.NOT_FOUND),
        (lambda service: service.find_scale_set("d", "two"), [listing(GROUP, GROUP)], FailureKind.INVALID),
        (lambda service: service.find_scale_set("d", ""), [listing(DEMO, DEMO)], FailureKind.INVALID),
        (lambda service: service.find_runner("r"), [listing(RUNNER, RUNNER)], FailureKind.INVALID),
    ],
)
def test_X3_none_or_several_where_there_must_be_one(call, answers, kind):
    world = Scripted(*answers)
    with pytest.raises(ServiceFailure) as caught:
        run(call(world.service()))
    assert caught.value.kind is kind


def test_it_is_what_the_engine_wants():
    clients: ActionsPort = Scripted().clients()
    from tests.unit.actions.scripted import access

    service: ActionsService = clients.service(access())
    for name in vars(ActionsService):
        assert name.startswith("_") or callable(getattr(service, name))

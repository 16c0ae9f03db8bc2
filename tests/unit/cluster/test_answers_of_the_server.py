"""What the connection makes of answers: replies, waits, lines of a watch, one line about what went wrong."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from urllib3 import exceptions

from arcfsm.cluster.connection.addresses import collection, item, query
from arcfsm.cluster.connection.answers import RETRY_AFTER_MAX_S, name_items, read_line, read_reply, retry_after
from arcfsm.cluster.connection.failures import one_line, reason
from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.kinds import RESOURCES, Kind, Resource

POD, SECRET, RUNNER = RESOURCES[Kind.POD], RESOURCES[Kind.SECRET], RESOURCES[Kind.RUNNER]


@pytest.mark.parametrize(
    ("status", "raw", "expected"),
    [
        (200, b'{"a":1}', Reply(200, {"a": 1})),
        (200, b"", Reply(200)),
        (200, b"ok", Reply(NO_ANSWER, detail="answer 200 is not JSON")),
        (201, b"[]", Reply(NO_ANSWER, detail="answer 201 is not a JSON object")),
        (502, b"<html>bad gateway</html>", Reply(502)),
        (404, b"404 page not found", Reply(404)),
        (500, b"[]", Reply(500)),
    ],
)
def test_replies(status, raw, expected):
    assert read_reply(status, {}, raw) == expected
    waits = read_reply(429, {"retry-after": "7"}, b"{}")
    assert (waits.retry_after_s, waits.ok) == (7, False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 0), ("1", 1), ("0", 0), ("-5", 0), ("soon", 0), ("9" * 30, RETRY_AFTER_MAX_S), ("٣", 0), ("1.5", 0)],
)
def test_retry_after(text, seconds):
    assert retry_after(text) == seconds


def test_retry_after_as_a_date():
    now = datetime.now(UTC)
    assert 28 <= retry_after(format_datetime(now + timedelta(seconds=30), usegmt=True)) <= 30
    assert retry_after(format_datetime(now - timedelta(days=1), usegmt=True)) == 0


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"type":1,"object":{}}', b'{"type":"ADDED"}', b'{"object":{}}'])
def test_what_is_no_line_of_a_watch(raw):
    assert read_line(POD, raw) is None


def test_kinds_are_restored():
    partial = b'{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"}}'
    assert read_line(SECRET, partial)["object"] == {"kind": "Secret", "apiVersion": "v1"}
    status = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}'
    assert read_line(SECRET, status)["object"]["kind"] == "Status"
    body = {"kind": "LeaseList", "items": [{"metadata": {}}, "odd"]}
    name_items(Resource("coordination.k8s.io", "v1", "leases"), body)
    assert body["items"] == [{"metadata": {}, "apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}, "odd"]
    name_items(POD, {"items": None})


def test_addresses():
    assert collection(POD, "") == "/api/v1/pods"
    assert item(RUNNER, "ns", "a", "status") == (
        "/apis/actions.github.com/v1alpha1/namespaces/ns/ephemeralrunners/a/status"
    )
    assert item(POD, "a/b", "../c") == "/api/v1/namespaces/a%2Fb/pods/..%2Fc"
    assert query(limit=0, labelSelector="") == ""
    assert query(limit=5, labelSelector="a in (b,c)") == "?limit=5&labelSelector=a+in+%28b%2Cc%29"


def wrapped(outer, inner):
    try:
        raise outer from inner
    except type(outer) as error:
        return error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (exceptions.NewConnectionError(None, "x"), "no connection: "),
        (exceptions.ConnectTimeoutError(None, "x"), "no connection in time"),
        (exceptions.ReadTimeoutError(None, "/", "x"), "no answer in time"),
        (wrapped(exceptions.ProtocolError("x"), ConnectionResetError(104, "Connection reset by peer")),
         "the connection broke: Connection reset by peer"),
        (exceptions.ProtocolError("Connection aborted.", ConnectionResetError(104, "reset")),
         "the connection broke: reset"),
        (wrapped(exceptions.NewConnectionError(None, "x"), socket.gaierror(-2, "Name or service not known")),
         "the server's name is unknown: Name or service not known"),
        (exceptions.SSLError(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")), "TLS: "),
        (exceptions.LocationParseError("host"), "Failed to parse: host"),
    ],
)  # fmt: skip
def test_reasons(error, told):
    assert reason(error).startswith(told)
    assert "\n" not in reason(error)


def test_one_line_holds_no_credential():
    told = one_line(f"GET https://user:hunter2@example.test failed\nbearer ghp_{'a' * 36}\n" + "x" * 1000)
    assert "hunter2" not in told
    assert "ghp_" not in told
    assert len(one_line("y " * 1000)) == 300
    assert one_line("") == "str"

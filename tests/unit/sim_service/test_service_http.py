"""The same service over HTTP: the ASGI application adds a socket's patience and nothing else."""

from __future__ import annotations

import asyncio
import json

import httpx

from arcfsm.sim.service import ActionsService, HostClock, ServiceFace, actions_app


def serve(scenario, **options):
    """Run a scenario against the application, in process, over httpx."""
    clock = HostClock()
    service = ActionsService(clock, seed=1)
    app = actions_app(ServiceFace(service, clock), **options)

    async def run():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://github.example.test") as http:
            return await scenario(service, http)

    return asyncio.run(run())


async def session(http):
    """Register, create a scale set and open a session; returns the queue's URL and headers."""
    pat = {"Authorization": "Bearer simulated-pat"}
    issued = await http.post("/api/v3/orgs/acme/actions/runners/registration-token", headers=pat)
    assert issued.status_code == 201
    registered = await http.post(
        "/api/v3/actions/runner-registration",
        headers={"Authorization": f"RemoteAuth {issued.json()['token']}"},
        # A client may send a byte order mark.
        content=b"\xef\xbb\xbf" + json.dumps({"url": "http://x/acme", "runner_event": "register"}).encode(),
    )
    base = registered.json()["url"]
    admin = {"Authorization": f"Bearer {registered.json()['token']}"}
    created = await http.post(f"{base}/_apis/runtime/runnerscalesets", headers=admin, json={"name": "demo"})
    assert created.json()["id"] == 1
    opened = await http.post(
        f"{base}/_apis/runtime/runnerscalesets/1/sessions", headers=admin, json={"ownerName": "pod"}
    )
    content = opened.json()
    return content["messageQueueUrl"], {"Authorization": f"Bearer {content['messageQueueAccessToken']}"}


def test_token_flow_and_session_work_over_http():
    async def scenario(service, http):
        await session(http)
        return len(service.sessions)

    assert serve(scenario) == 1


def test_an_empty_poll_is_held_and_ends_with_202():
    async def scenario(_service, http):
        url, headers = await session(http)
        return await http.get(url, headers=headers)

    answer = serve(scenario, long_poll_s=0.05)
    assert (answer.status_code, answer.content) == (202, b"")


def test_a_held_poll_is_answered_when_a_job_comes():
    async def scenario(service, http):
        url, headers = await session(http)
        poll = asyncio.create_task(http.get(url, headers=headers))
        await asyncio.sleep(0.05)
        service.jobs.queue(1)
        return await poll

    answer = serve(scenario, long_poll_s=20)
    assert answer.status_code == 200
    assert json.loads(answer.json()["body"])[0]["messageType"] == "JobAvailable"


def test_a_body_that_is_not_json_is_a_bad_request():
    async def scenario(_service, http):
        return await http.post("/api/v3/actions/runner-registration", content=b"{")

    answer = serve(scenario)
    assert (answer.status_code, set(answer.json())) == (400, {"typeName", "message"})

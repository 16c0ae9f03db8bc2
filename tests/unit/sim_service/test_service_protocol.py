"""The HTTP protocol of the simulated Actions service, called in process (rules.md X1-X6)."""

from __future__ import annotations

import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.sim.clock import ManualClock
from arcfsm.sim.service import ActionsService, JobResult, JobState, ServiceFace, ServiceRequest, ServiceSettings

SETS = "/_apis/runtime/runnerscalesets"
AGENTS = "/_apis/distributedtask/pools/0/agents"


class Client:
    """A client that did the token flow and speaks for one scale set."""

    def __init__(self, settings=None, seed=1):
        self.clock = ManualClock()
        self.service = ActionsService(self.clock, seed, settings)
        self.face = ServiceFace(self.service, self.clock)
        self.register()

    def send(self, method, url, body=None, token=None, **headers):
        token = self.admin if token is None else token
        return self.face.answer(ServiceRequest(method, url, {"authorization": f"Bearer {token}", **headers}, body))

    def register(self):
        issued = self.send("POST", "/api/v3/orgs/acme/actions/runners/registration-token", token="simulated-pat")
        assert issued.status == 201
        body = {"url": "http://github.example.test/acme", "runner_event": "register"}
        answer = self.face.answer(
            ServiceRequest(
                "POST",
                "/api/v3/actions/runner-registration",
                {"authorization": f"RemoteAuth {issued.body['token']}"},
                body,
            )
        )
        assert answer.status == 200
        self.base, self.admin = answer.body["url"], answer.body["token"]

    def scale_set(self, name="demo", **more):
        return self.send("POST", f"{self.base}{SETS}", {"name": name, "runnerGroupId": 1, **more})

    def open_session(self, owner="pod"):
        session = self.send("POST", f"{self.base}{SETS}/1/sessions", {"ownerName": owner})
        if session.status == 200:
            self.queue, self.queue_token = session.body["messageQueueUrl"], session.body["messageQueueAccessToken"]
        return session

    def poll(self, last=0, capacity=10):
        url = self.queue + (f"&lastMessageId={last}" if last else "")
        return self.send("GET", url, token=self.queue_token, **{"x-scalesetmaxcapacity": str(capacity)})

    def items(self, message):
        return [(item["messageType"], item["runnerRequestId"]) for item in json.loads(message.body["body"])]

    def acknowledge(self, message):
        path, _, query = self.queue.partition("?")
        return self.send("DELETE", f"{path}/{message.body['messageId']}?{query}", token=self.queue_token)


@pytest.fixture
def client():
    made = Client()
    assert made.scale_set().status == 200
    return made


def test_admin_token_is_a_jwt_with_an_expiry():
    client = Client()
    claims = jwt.decode(client.admin, options={"verify_signature": False})
    assert claims["exp"] * SECOND == client.clock.now() + 60 * MINUTE


def test_tokens_follow_from_the_seed():
    assert Client(seed=3).admin == Client(seed=3).admin
    assert Client(seed=3).admin != Client(seed=4).admin


def test_expired_admin_token_is_refused(client):
    client.clock.advance(61 * MINUTE)
    refused = client.send("GET", f"{client.base}{SETS}/1")
    assert (refused.status, "VssUnauthorizedException" in refused.body["typeName"]) == (401, True)


def test_unknown_pat_is_refused(client):
    answer = client.send("POST", "/api/v3/orgs/acme/actions/runners/registration-token", token="other")
    assert answer.status == 401


def test_a_token_for_one_purpose_does_not_serve_another(client):
    client.open_session()
    assert client.send("GET", f"{client.base}{SETS}/1", token=client.queue_token).status == 401
    assert client.send("GET", client.queue, token=client.admin).status == 401


def test_app_flow():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    client = Client(ServiceSettings(app_keys={"7": public.decode()}))
    now = client.clock.now() // SECOND
    url = "/api/v3/app/installations/9/access_tokens"
    good = jwt.encode({"iss": "7", "iat": now - 60, "exp": now + 540}, key, algorithm="RS256")
    issued = client.send("POST", url, token=good)
    assert issued.status == 201
    repo = "/api/v3/repos/acme/repo/actions/runners/registration-token"
    assert client.send("POST", repo, token=issued.body["token"]).status == 201
    stale = jwt.encode({"iss": "7", "iat": now - 900, "exp": now - 60}, key, algorithm="RS256")
    foreign = jwt.encode({"iss": "8", "iat": now - 60, "exp": now + 540}, key, algorithm="RS256")
    assert [client.send("POST", url, token=token).status for token in (stale, foreign, "x")] == [401, 401, 401]


def test_scale_set_is_created_with_missing_labels_filled_in(client):
    body = client.scale_set("second").body
    assert body["labels"] == [{"type": "System", "name": "second"}]
    assert body["runnerGroupName"] == "Default"
    labelled = client.scale_set("third", labels=[{"name": "gpu"}]).body
    assert labelled["labels"] == [{"type": "System", "name": "gpu"}]


def test_scale_set_name_is_unique_in_its_group(client):
    refused = client.scale_set("DEMO")
    assert (refused.status, "ExistsException" in refused.body["typeName"]) == (409, True)


def test_scale_sets_are_found_by_group_and_name(client):
    found = client.send("GET", f"{client.base}{SETS}?runnerGroupId=1&name=demo").body
    assert (found["count"], found["value"][0]["id"]) == (1, 1)
    assert client.send("GET", f"{client.base}{SETS}?runnerGroupId=2&name=demo").body == {"count": 0, "value": []}


def test_update_changes_name_and_group_but_never_labels(client):
    group = client.service.add_group("gpu")
    url = f"{client.base}{SETS}/1"
    changed = client.send("PATCH", url, {"runnerGroupId": group.id, "labels": [{"name": "x"}]}).body
    assert (changed["runnerGroupName"], changed["labels"]) == ("gpu", [{"type": "System", "name": "demo"}])
    assert client.send("PATCH", url, {"name": "renamed"}).body["name"] == "renamed"


def test_groups_are_found_by_name(client):
    found = client.send("GET", f"{client.base}/_apis/runtime/runnergroups/?groupName=default").body
    assert found == {"count": 1, "value": [{"id": 1, "name": "Default", "size": 1, "isDefaultGroup": True}]}
    assert client.send("GET", f"{client.base}/_apis/runtime/runnergroups/?groupName=none").body["count"] == 0


def test_deleted_scale_set_is_gone(client):
    client.open_session()
    url = f"{client.base}{SETS}/1"
    assert client.send("DELETE", url).status == 204
    assert [client.send("GET", url).status, client.send("DELETE", url).status] == [404, 404]
    assert client.poll().status == 401


def jit(client, name="r1"):
    return client.send("POST", f"{client.base}{SETS}/1/generatejitconfig", {"name": name, "workFolder": "_work"})


def test_jit_config_registers_an_agent(client):
    made = jit(client).body
    assert made["runner"] == {"id": 1, "name": "r1", "runnerScaleSetId": 1}
    assert client.send("GET", f"{client.base}{AGENTS}?agentName=r1").body["count"] == 1
    assert client.send("GET", f"{client.base}{AGENTS}/1").body["name"] == "r1"


def test_a_second_agent_of_that_name_is_refused(client):
    jit(client)
    refused = jit(client)
    assert (refused.status, "AgentExistsException" in refused.body["typeName"]) == (409, True)


def test_missing_agent_has_its_own_type_name(client):
    for method in ("GET", "DELETE"):
        refused = client.send(method, f"{client.base}{AGENTS}/99")
        assert (refused.status, "AgentNotFoundException" in refused.body["typeName"]) == (404, True)


def test_removed_agent_frees_its_name_after_the_lag():
    client = Client(ServiceSettings(deregistration_lag=5 * SECOND))
    client.scale_set()
    jit(client)
    assert client.send("DELETE", f"{client.base}{AGENTS}/1").status == 204
    assert client.send("GET", f"{client.base}{AGENTS}?agentName=r1").body["count"] == 1
    assert jit(client).status == 409
    client.clock.advance(5 * SECOND)
    assert jit(client).body["runner"]["id"] == 2


def test_a_silent_agent_is_forgotten(client):
    jit(client)
    client.clock.advance(client.service.settings.agent_expiry)
    assert client.send("GET", f"{client.base}{AGENTS}?agentName=r1", token=client.admin).status == 401
    client.register()
    assert client.send("GET", f"{client.base}{AGENTS}?agentName=r1").body["count"] == 0


def run_job(client, *, acknowledge=True):
    """Take one job through acquisition and onto a runner; returns its messages' items."""
    job = client.service.jobs.queue(1, name="build", duration=MINUTE)
    offered = client.poll()
    seen = client.items(offered)
    if acknowledge:
        client.acknowledge(offered)
    acquired = client.send("POST", f"{client.base}{SETS}/1/acquirejobs", [job.request_id], token=client.queue_token)
    assert acquired.body == {"count": 1, "value": [job.request_id]}
    client.clock.advance(SECOND)
    agent = client.service.connect_agent(jit(client).body["encodedJITConfig"])
    message = client.poll(last=offered.body["messageId"])
    return job, agent, message, seen


def test_a_job_goes_from_offer_to_start(client):
    session = client.open_session()
    assert session.body["statistics"]["totalAssignedJobs"] == 0
    job, agent, message, seen = run_job(client)
    assert seen == [("JobAvailable", job.request_id)]
    assert client.items(message) == [("JobAssigned", job.request_id), ("JobStarted", job.request_id)]
    started = json.loads(message.body["body"])[1]
    assert (started["runnerId"], started["runnerName"]) == (agent.id, "r1")
    assert message.body["statistics"]["totalAssignedJobs"] == 1
    assert message.body["statistics"]["totalRunningJobs"] == 1
    assert message.body["statistics"]["totalBusyRunners"] == 1


def test_a_busy_runner_cannot_be_removed(client):
    client.open_session()
    run_job(client)
    refused = client.send("DELETE", f"{client.base}{AGENTS}/1")
    assert (refused.status, "JobStillRunningException" in refused.body["typeName"]) == (400, True)


def test_a_finished_runner_takes_itself_off(client):
    client.open_session()
    job, agent, message, _ = run_job(client)
    client.service.jobs.finish(agent.id, JobResult.SUCCEEDED)
    done = client.poll(last=message.body["messageId"])
    assert client.items(done) == [("JobCompleted", job.request_id)]
    assert json.loads(done.body["body"])[0]["result"] == "succeeded"
    assert client.send("GET", f"{client.base}{AGENTS}/1").status == 404


def test_a_lost_runners_job_is_given_up_when_its_lease_ends(client):
    client.open_session()
    job, agent, _, _ = run_job(client)
    client.service.jobs.disconnect(agent.id)
    assert client.send("DELETE", f"{client.base}{AGENTS}/1").status == 400
    client.clock.advance(client.service.settings.job_lease)
    client.service.settle()
    assert (job.state, job.result) == (JobState.COMPLETED, JobResult.ABANDONED)
    assert client.send("GET", f"{client.base}{AGENTS}/1").status == 404


def test_a_cancelled_job_completes_and_its_runner_takes_no_other(client):
    client.open_session()
    job, agent, _, _ = run_job(client)
    client.service.jobs.cancel(job.id)
    assert job.result is JobResult.CANCELED
    assert client.service.jobs.current_job(agent.id) is None
    assert not agent.idle


def test_a_job_cancelled_before_it_was_offered_leaves_no_message(client):
    client.open_session()
    client.service.scale_set(1).capacity = 0
    job = client.service.jobs.queue(1)
    client.service.jobs.cancel(job.id)
    assert client.poll(capacity=0).status == 202


def test_an_offer_nobody_takes_is_made_again(client):
    client.open_session()
    job = client.service.jobs.queue(1)
    first = client.poll()
    client.acknowledge(first)
    assert client.poll(last=1).status == 202
    client.clock.advance(client.service.settings.offer_lease)
    assert client.items(client.poll(last=1)) == [("JobAvailable", job.request_id)]


def test_capacity_limits_what_is_offered(client):
    client.open_session()
    client.poll(capacity=2)
    jobs = [client.service.jobs.queue(1) for _ in range(3)]
    first = client.poll(capacity=2)
    assert client.items(first) == [("JobAvailable", job.request_id) for job in jobs[:2]]
    assert client.poll(last=first.body["messageId"], capacity=2).status == 202
    client.service.jobs.cancel(jobs[0].id)
    assert ("JobAvailable", jobs[2].request_id) in client.items(client.poll(last=1, capacity=2))


def test_an_unacknowledged_message_is_delivered_again(client):
    client.open_session()
    client.service.jobs.queue(1)
    first = client.poll()
    assert client.poll().body == first.body
    assert client.poll(last=1).status == 202
    client.acknowledge(first)
    assert client.poll().status == 202


def test_an_empty_poll_asks_to_be_held(client):
    client.open_session()
    answer = client.poll()
    assert (answer.status, answer.hold, answer.scale_set_id, answer.body) == (202, True, 1, None)


def test_a_second_session_conflicts_until_the_first_expires(client):
    client.open_session()
    assert client.open_session("other").status == 409
    client.clock.advance(client.service.settings.session_lease)
    assert client.open_session("other").status == 200
    assert len(client.service.sessions) == 1


def test_a_deleted_session_makes_room(client):
    session = client.open_session().body["sessionId"]
    assert client.send("DELETE", f"{client.base}{SETS}/1/sessions/{session}").status == 204
    assert client.poll().status == 401
    assert client.open_session().status == 200


def test_an_expired_queue_token_can_be_refreshed(client):
    session = client.open_session().body["sessionId"]
    client.clock.advance(client.service.settings.queue_lifetime)
    assert client.poll().status == 401
    fresh = client.send("PATCH", f"{client.base}{SETS}/1/sessions/{session}")
    client.queue_token = fresh.body["messageQueueAccessToken"]
    assert client.poll().status == 202


def test_only_offered_and_unclaimed_jobs_can_be_acquired(client):
    client.open_session()
    job = client.service.jobs.queue(1)
    url = f"{client.base}{SETS}/1/acquirejobs"
    assert client.send("POST", url, [job.request_id, 1], token=client.queue_token).body["value"] == [job.request_id]
    assert client.send("POST", url, [job.request_id], token=client.queue_token).body == {"count": 0, "value": []}


def test_throttling_says_how_long(client):
    client.service.throttled_until = client.clock.now() + 2500 * 1000
    refused = client.send("GET", f"{client.base}{SETS}/1")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "3")
    client.clock.advance(3 * SECOND)
    assert client.send("GET", f"{client.base}{SETS}/1").status == 200


def test_outage_answers_everything_alike(client):
    client.service.outage = 503
    assert client.send("GET", f"{client.base}{SETS}/1").status == 503
    client.service.outage = None
    assert client.send("GET", f"{client.base}{SETS}/1").status == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("GET", f"{SETS}/abc", None, 400),
        ("POST", SETS, [], 400),
        ("POST", SETS, {}, 400),
        ("POST", SETS, {"name": "x", "runnerGroupId": 77}, 400),
        ("POST", f"{SETS}/1/generatejitconfig", {}, 400),
        ("POST", f"{SETS}/2/generatejitconfig", {"name": "x"}, 404),
        ("PATCH", f"{SETS}/1/sessions/none", None, 404),
    ],
)
def test_wrong_requests_get_a_service_error(client, method, path, body, status):
    answer = client.send(method, client.base + path, body)
    assert answer.status == status
    assert set(answer.body) == {"typeName", "message"}


def test_every_answer_can_be_traced(client):
    headers = client.send("GET", f"{client.base}{SETS}/1").headers
    assert {"ActivityId", "X-GitHub-Request-Id"} <= set(headers)


def test_a_wrong_secret_does_not_connect(client):
    jit(client)
    with pytest.raises(Exception, match="not found"):
        client.service.jobs.connect(1, "wrong")


def test_next_due_names_the_moment_of_assignment(client):
    client.open_session()
    job = client.service.jobs.queue(1)
    client.poll()
    client.service.jobs.acquire(1, [job.request_id])
    assert client.service.next_due() == client.clock.now() + client.service.settings.assign_delay

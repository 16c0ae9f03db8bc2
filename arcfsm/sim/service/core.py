"""The simulated Actions service: registration, scale sets, groups, agents, sessions and the message queue (X1-X6).

Pure and deterministic: it holds records and a clock it was handed, has no threads and does no I/O. `face.py` gives it
the HTTP form, in process and over a socket alike. What is a matter of time happens at the start of every call and in
`settle`.

Conditions of trouble are state as well: while `outage` is set every call answers its status, while `throttled_until`
lies ahead every call answers 429 with Retry-After. The world sets them from its fault plan.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from arcfsm.domain.instant import Instant
from arcfsm.domain.keys import DEFAULT_RUNNER_GROUP_ID
from arcfsm.sim.clock import Clock
from arcfsm.sim.kernel import random_stream
from arcfsm.sim.service.errors import (
    AgentExistsError,
    AgentNotFoundError,
    BadRequestError,
    NotFoundError,
    ScaleSetExistsError,
    SessionConflictError,
    UnauthorizedError,
)
from arcfsm.sim.service.jobs import JobBoard, ServiceState
from arcfsm.sim.service.model import (
    SYSTEM_LABEL,
    Agent,
    Job,
    Message,
    RunnerGroup,
    ScaleSet,
    ServiceSettings,
    Session,
    WireObject,
    wire_time,
)
from arcfsm.sim.service.tokens import IssuedToken, TokenMint


class ActionsService:
    """One GitHub instance's Actions service, as far as runner scale sets see it."""

    def __init__(self, clock: Clock, seed: int = 0, settings: ServiceSettings | None = None) -> None:
        self.settings = settings or ServiceSettings()
        self.outage: int | None = None
        """While set, the status that every call answers."""
        self.throttled_until: Instant = 0
        self.tokens = TokenMint(seed, clock)
        self._clock = clock
        self._random = random_stream(seed, "actions-service")
        self._state = ServiceState(scale_sets={}, agents={}, jobs={})
        self._groups = {DEFAULT_RUNNER_GROUP_ID: RunnerGroup(DEFAULT_RUNNER_GROUP_ID, "Default", is_default=True)}
        self._sessions: dict[str, Session] = {}
        self._scale_set_serial = 0
        self._agent_serial = 0
        self._watchers: list[Callable[[int], None]] = []
        self.jobs = JobBoard(self._state, self.settings, clock, self._notify)

    # --- what the world looks at --------------------------------------------------------------------------------------

    @property
    def scale_sets(self) -> Sequence[ScaleSet]:
        """All scale sets, oldest first."""
        return tuple(self._state.scale_sets.values())

    @property
    def agents(self) -> Sequence[Agent]:
        """All agents that are still known, removed ones within their lag included, oldest first."""
        return tuple(self._state.agents.values())

    @property
    def all_jobs(self) -> Sequence[Job]:
        """All jobs ever queued, oldest first."""
        return tuple(self._state.jobs.values())

    @property
    def sessions(self) -> Sequence[Session]:
        """All open sessions."""
        return tuple(self._sessions.values())

    def watch(self, callback: Callable[[int], None]) -> None:
        """Call back with the id of a scale set whenever its queue has something new."""
        self._watchers.append(callback)

    def settle(self) -> None:
        """Let everything happen that is due by now."""
        self.jobs.settle()

    def next_due(self) -> Instant | None:
        """Return when time alone will next change something."""
        return self.jobs.next_due()

    # --- registration (X2) --------------------------------------------------------------------------------------------

    def installation_token(self, app_jwt: str) -> IssuedToken:
        """Exchange an app's JWT for an installation token."""
        app = self.tokens.check_app(app_jwt, self.settings.app_keys)
        return self.tokens.issue("installation", app, self.settings.registration_lifetime)

    def registration_token(self, bearer: str, scope: str) -> IssuedToken:
        """Issue a registration token for an organization, enterprise or repository."""
        if bearer not in self.settings.pats:
            self.tokens.check(bearer, "installation")
        return self.tokens.issue("registration", scope, self.settings.registration_lifetime)

    def register(self, registration: str, config_url: str) -> WireObject:
        """Hand out the service base and an admin token."""
        claims = self.tokens.check(registration, "registration")
        if not config_url:
            raise BadRequestError("url is required")
        admin = self.tokens.issue("admin", str(claims["sub"]), self.settings.admin_lifetime)
        return {"url": self.service_base, "token": admin.text}

    @property
    def service_base(self) -> str:
        """Where the service is, as `register` tells it."""
        return f"{self.settings.base_url}/_services/pipelines/{self.settings.tenant}"

    # --- groups and scale sets ----------------------------------------------------------------------------------------

    def add_group(self, name: str) -> RunnerGroup:
        """Create a runner group."""
        group = RunnerGroup(max(self._groups) + 1, name)
        self._groups[group.id] = group
        return group

    def groups_named(self, name: str) -> list[WireObject]:
        """Return the groups of this name, ignoring case."""
        found = [group for group in self._groups.values() if group.name.lower() == name.lower()]
        return [group.to_wire(sum(s.group_id == group.id for s in self.scale_sets)) for group in found]

    def scale_sets_named(self, group_id: int, name: str) -> list[WireObject]:
        """Return the scale sets of this name in a group, ignoring case."""
        return [
            self.scale_set_to_wire(scale_set)
            for scale_set in self.scale_sets
            if scale_set.group_id == group_id and scale_set.name.lower() == name.lower()
        ]

    def scale_set(self, scale_set_id: int) -> ScaleSet:
        """Return one scale set."""
        try:
            return self._state.scale_sets[scale_set_id]
        except KeyError:
            raise NotFoundError(f"Runner scale set {scale_set_id} not found.") from None

    def create_scale_set(self, body: WireObject) -> WireObject:
        """Register a scale set; missing labels and label types are filled in."""
        name = str(body.get("name") or "")
        group_id = self._group(body.get("runnerGroupId") or DEFAULT_RUNNER_GROUP_ID).id
        if not name:
            raise BadRequestError("name is required")
        self._refuse_duplicate(name, group_id, None)
        labels = body.get("labels") or [{"name": name}]
        self._scale_set_serial += 1
        scale_set = ScaleSet(
            id=self._scale_set_serial,
            name=name,
            group_id=group_id,
            labels=[{"type": label.get("type") or SYSTEM_LABEL, "name": label["name"]} for label in labels],
            runner_setting=dict(body.get("RunnerSetting") or {}),
            created_at=self._clock.now(),
        )
        self._state.scale_sets[scale_set.id] = scale_set
        return self.scale_set_to_wire(scale_set)

    def update_scale_set(self, scale_set_id: int, body: WireObject) -> WireObject:
        """Change name, group or settings; labels are never changed by an update."""
        scale_set = self.scale_set(scale_set_id)
        name = str(body.get("name") or scale_set.name)
        group_id = self._group(body.get("runnerGroupId") or scale_set.group_id).id
        self._refuse_duplicate(name, group_id, scale_set_id)
        scale_set.name, scale_set.group_id = name, group_id
        if body.get("RunnerSetting"):
            scale_set.runner_setting = dict(body["RunnerSetting"])
        return self.scale_set_to_wire(scale_set)

    def delete_scale_set(self, scale_set_id: int) -> None:
        """Delete a scale set with its queue and session."""
        self.scale_set(scale_set_id)
        del self._state.scale_sets[scale_set_id]
        for session in list(self._sessions.values()):
            if session.scale_set_id == scale_set_id:
                del self._sessions[session.id]
        self._notify(scale_set_id)

    def scale_set_to_wire(self, scale_set: ScaleSet) -> WireObject:
        """Write a scale set as the service does."""
        return {
            "id": scale_set.id,
            "name": scale_set.name,
            "runnerGroupId": scale_set.group_id,
            "runnerGroupName": self._groups[scale_set.group_id].name,
            "labels": scale_set.labels,
            "RunnerSetting": scale_set.runner_setting,
            "createdOn": wire_time(scale_set.created_at),
            "runnerJitConfigUrl": f"{self.service_base}/_apis/runtime/runnerscalesets/{scale_set.id}/generatejitconfig",
            "statistics": self.jobs.statistics(scale_set.id),
        }

    # --- agents -------------------------------------------------------------------------------------------------------

    def generate_jit_config(self, scale_set_id: int, name: str, work_folder: str = "") -> WireObject:
        """Register a runner and hand out the configuration it starts with."""
        self.scale_set(scale_set_id)
        if not name:
            raise BadRequestError("name is required")
        if self.agents_named(name):
            raise AgentExistsError(f"Agent {name} already exists.")
        self._agent_serial += 1
        secret = f"{self._random.getrandbits(128):032x}"
        agent = Agent(self._agent_serial, name, scale_set_id, secret, registered_at=self._clock.now())
        self._state.agents[agent.id] = agent
        content = {"agentId": agent.id, "agentName": name, "secret": secret, "workFolder": work_folder or "_work"}
        encoded = base64.b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()
        return {"runner": agent.to_wire(), "encodedJITConfig": encoded}

    def agents_named(self, name: str) -> list[WireObject]:
        """Return the agents of this name."""
        return [agent.to_wire() for agent in self._state.agents.values() if agent.name == name]

    def agent(self, agent_id: int) -> WireObject:
        """Return one agent."""
        agent = self._state.agents.get(agent_id)
        if agent is None:
            raise AgentNotFoundError(f"Agent {agent_id} not found.")
        return agent.to_wire()

    def connect_agent(self, encoded_jit_config: str) -> Agent:
        """A runner starts with its JIT configuration. Raises AgentNotFoundError when the registration is gone."""
        try:
            content: dict[str, Any] = json.loads(base64.b64decode(encoded_jit_config, validate=True))
            agent_id, secret = int(content["agentId"]), str(content["secret"])
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequestError(f"the JIT configuration cannot be read: {error}") from error
        return self.jobs.connect(agent_id, secret)

    # --- sessions and messages ----------------------------------------------------------------------------------------

    def create_session(self, scale_set_id: int, owner: str) -> WireObject:
        """Open the queue of a scale set.

        A living session of somebody else's is a conflict, one of the same owner's too.
        """
        self.scale_set(scale_set_id)
        now = self._clock.now()
        for held in list(self._sessions.values()):
            if held.scale_set_id != scale_set_id:
                continue
            if held.polled_at + self.settings.session_lease > now:
                raise SessionConflictError(
                    f"The runner scale set {scale_set_id} already has an active session for owner {held.owner}."
                )
            del self._sessions[held.id]
        identity = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        session = Session(identity, scale_set_id, owner, "", polled_at=now)
        self._sessions[identity] = session
        return self._session_to_wire(session)

    def refresh_session(self, scale_set_id: int, session_id: str) -> WireObject:
        """Renew a session and hand out a new queue token."""
        session = self._session(session_id)
        if session.scale_set_id != scale_set_id:
            raise NotFoundError(f"Session {session_id} not found.")
        session.polled_at = self._clock.now()
        return self._session_to_wire(session)

    def delete_session(self, session_id: str) -> None:
        """Close a session; what was not acknowledged stays in the queue for the next one."""
        self._session(session_id)
        del self._sessions[session_id]

    def queue_session(self, token: str) -> Session:
        """Return the session that a queue token belongs to. Raises UnauthorizedError when it is over."""
        claims = self.tokens.check(token, "queue")
        session = self._sessions.get(str(claims["sub"]))
        if session is None:
            raise UnauthorizedError("the session of this token is gone")
        return session

    def next_message(self, session: Session, last_message_id: int, capacity: int | None) -> Message | None:
        """Return the first message after the last one seen, or None when there is nothing to tell."""
        scale_set = self.scale_set(session.scale_set_id)
        session.polled_at = self._clock.now()
        scale_set.capacity = capacity
        self.settle()
        for message in scale_set.messages:
            if message.id > last_message_id:
                return message
        if not scale_set.pending:
            return None
        scale_set.message_id += 1
        body = json.dumps(scale_set.pending, separators=(",", ":"))
        message = Message(scale_set.message_id, body, self.jobs.statistics(scale_set.id))
        scale_set.pending = []
        scale_set.messages.append(message)
        return message

    def delete_message(self, session: Session, message_id: int) -> None:
        """Acknowledge a message; one that is not there any more counts as acknowledged."""
        scale_set = self.scale_set(session.scale_set_id)
        scale_set.messages = [message for message in scale_set.messages if message.id != message_id]

    def _session_to_wire(self, session: Session) -> WireObject:
        queues = f"{self.service_base}/_apis/runtime/messagequeue"
        session.token = self.tokens.issue("queue", session.id, self.settings.queue_lifetime).text
        return {
            "sessionId": session.id,
            "ownerName": session.owner,
            "runnerScaleSet": self.scale_set_to_wire(self.scale_set(session.scale_set_id)),
            "messageQueueUrl": f"{queues}/{session.scale_set_id}?sessionId={session.id}",
            "messageQueueAccessToken": session.token,
            "statistics": self.jobs.statistics(session.scale_set_id),
        }

    def _session(self, session_id: str) -> Session:
        try:
            return self._sessions[session_id]
        except KeyError:
            raise NotFoundError(f"Session {session_id} not found.") from None

    def _group(self, group_id: int) -> RunnerGroup:
        try:
            return self._groups[group_id]
        except KeyError:
            raise BadRequestError(f"Runner group {group_id} not found.") from None

    def _refuse_duplicate(self, name: str, group_id: int, own_id: int | None) -> None:
        for other in self.scale_sets:
            if other.id != own_id and other.group_id == group_id and other.name.lower() == name.lower():
                raise ScaleSetExistsError(f"Runner scale set {name} already exists in group {group_id}.")

    def _notify(self, scale_set_id: int) -> None:
        for callback in self._watchers:
            callback(scale_set_id)

"""The simulated Actions service (rules.md X1-X6): a pure core, one HTTP face, usable in process and over a socket.

- `ActionsService(clock, seed, settings)`: the records and their rules; `.jobs` queues, cancels and runs jobs.
- `ServiceFace(service, clock).answer(ServiceRequest) -> ServiceResponse`: the HTTP protocol as a pure function.
- `actions_app(face)`: the same as an ASGI application.
"""

from arcfsm.sim.service.asgi import HostClock, actions_app
from arcfsm.sim.service.core import ActionsService
from arcfsm.sim.service.errors import ServiceError
from arcfsm.sim.service.face import ServiceFace, ServiceRequest, ServiceResponse
from arcfsm.sim.service.model import Job, JobResult, JobState, ServiceSettings

__all__ = [
    "ActionsService",
    "HostClock",
    "Job",
    "JobResult",
    "JobState",
    "ServiceError",
    "ServiceFace",
    "ServiceRequest",
    "ServiceResponse",
    "ServiceSettings",
    "actions_app",
]

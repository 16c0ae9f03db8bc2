"""Refusals of the simulated Actions service: a status and the body `{typeName, message}` (rules.md X4).

Type names are those a client tests for by containment, in the long form in which .NET services write them.
"""

from __future__ import annotations


class ServiceError(Exception):
    """A refusal that reaches the caller as an HTTP error."""

    status = 400
    type_name = "GitHub.Services.Common.VssServiceException, GitHub.Services.Common"

    def to_wire(self) -> dict[str, str]:
        """Write the body."""
        return {"typeName": self.type_name, "message": str(self)}


class BadRequestError(ServiceError):
    """The request cannot be understood."""

    status = 400
    type_name = "System.ArgumentException, mscorlib"


class UnauthorizedError(ServiceError):
    """The credential is missing, unknown or expired."""

    status = 401
    type_name = "GitHub.Services.Common.VssUnauthorizedException, GitHub.Services.Common"


class NotFoundError(ServiceError):
    """There is no such thing, and no type name of its own for it."""

    status = 404
    type_name = "GitHub.Actions.Runtime.WebApi.RunnerScaleSetNotFoundException, GitHub.Actions.Runtime.WebApi"


class ScaleSetExistsError(ServiceError):
    """A scale set of this name is in the group already."""

    status = 409
    type_name = "GitHub.Actions.Runtime.WebApi.RunnerScaleSetExistsException, GitHub.Actions.Runtime.WebApi"


class SessionConflictError(ServiceError):
    """Another session holds the queue of this scale set."""

    status = 409
    type_name = "GitHub.Actions.Runtime.WebApi.RunnerScaleSetSessionConflictException, GitHub.Actions.Runtime.WebApi"


class AgentExistsError(ServiceError):
    """A runner of this name is registered already."""

    status = 409
    type_name = "GitHub.DistributedTask.WebApi.TaskAgentExistsException, GitHub.DistributedTask.WebApi"


class AgentNotFoundError(ServiceError):
    """There is no runner of this id."""

    status = 404
    type_name = "GitHub.DistributedTask.WebApi.TaskAgentNotFoundException, GitHub.DistributedTask.WebApi"


class JobStillRunningError(ServiceError):
    """The runner cannot be removed while it has a job."""

    status = 400
    type_name = "GitHub.DistributedTask.WebApi.TaskAgentJobStillRunningException, GitHub.DistributedTask.WebApi"

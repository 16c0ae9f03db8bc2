"""Faults by seed: the plan of a run, the boundaries where it strikes, and the links of processes through them.

- `FaultPlan.draw(seed, level, horizon)`: everything that will go wrong.
- `Boundary`, `Availability`: where calls are slow, refused, lost or doubled, and whether a server is up.
- `ClusterLink`, `Reflector`: a process's way to the API server. `ServiceLink`, `ServiceHost`: to the Actions service.
"""

from arcfsm.sim.faults.boundary import Availability, Boundary
from arcfsm.sim.faults.cluster import ClusterBackend, ClusterLink, ClusterRequest, ClusterResponse, Watch
from arcfsm.sim.faults.plan import BoundaryName, FaultLevel, FaultPlan, FaultRates, Incident, IncidentKind
from arcfsm.sim.faults.reflector import Reflector
from arcfsm.sim.faults.service import ServiceHost, ServiceLink

__all__ = [
    "Availability",
    "Boundary",
    "BoundaryName",
    "ClusterBackend",
    "ClusterLink",
    "ClusterRequest",
    "ClusterResponse",
    "FaultLevel",
    "FaultPlan",
    "FaultRates",
    "Incident",
    "IncidentKind",
    "Reflector",
    "ServiceHost",
    "ServiceLink",
    "Watch",
]

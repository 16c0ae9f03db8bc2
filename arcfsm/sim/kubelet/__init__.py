"""The simulated kubelet and scheduler: scripted lives of pods, on virtual time, in the shapes a real node reports.

- `PodLife`, `ContainerLife`, `LifeRule`, `LifeBook`: what happens to which pod.
- `Node`, `Scheduler`: the two actors that make it happen.
- `Program`, `ContainerRun`, `ProgramBook`: what may run inside a container instead of a script.
"""

from arcfsm.sim.kubelet.life import ContainerLife, LifeBook, LifeRule, PodLife
from arcfsm.sim.kubelet.node import NODE_NAME, Node, Scheduler
from arcfsm.sim.kubelet.program import ContainerRun, Program, ProgramBook

__all__ = [
    "NODE_NAME",
    "ContainerLife",
    "ContainerRun",
    "LifeBook",
    "LifeRule",
    "Node",
    "PodLife",
    "Program",
    "ProgramBook",
    "Scheduler",
]

"""`arcfsm machines`: the state machines, as a table or a picture."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.machines import MACHINES
from arcfsm.domain.machines.drawing import dot, mermaid, table


class MachineFormat(StrEnum):
    """How to print a machine."""

    TABLE = "table"
    MERMAID = "mermaid"
    DOT = "dot"


class MachineName(StrEnum):
    """Which machine."""

    SCALE_SET = AggregateKind.SCALE_SET
    RUNNER_SET = AggregateKind.RUNNER_SET
    RUNNER = AggregateKind.RUNNER
    LISTENER = AggregateKind.LISTENER


def machines_command(
    machine: Annotated[MachineName | None, typer.Argument(help="Print this machine only.", show_default=False)] = None,
    output: Annotated[
        MachineFormat, typer.Option("--format", "-f", help="A table, a Mermaid or a Graphviz drawing.")
    ] = MachineFormat.TABLE,
) -> None:
    """Print the state machines: every state, and which event moves an object from where to where."""
    draw = {MachineFormat.TABLE: table, MachineFormat.MERMAID: mermaid, MachineFormat.DOT: dot}[output]
    wanted = list(MACHINES) if machine is None else [AggregateKind(machine.value)]
    typer.echo("\n".join(draw(MACHINES[kind]) for kind in wanted), nl=False)

"""Machines as text: a table for reading, Mermaid and Graphviz for drawing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from arcfsm.domain.machines.machine import MachineSpec, Move


def _arrows(spec: MachineSpec[Any]) -> dict[tuple[str, str], list[str]]:
    """Collect what leads from one state to another: `Event [guard, guard]`, in the order of declaration."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for move in spec.moves:
        for source in move.sources:
            if source != move.dest:
                labels = arrows.setdefault((source, move.dest), [])
                if (label := _label(move)) not in labels:
                    labels.append(label)
    return arrows


def _label(move: Move) -> str:
    return f"{move.trigger} [{', '.join(move.guards)}]" if move.guards else move.trigger


def _columns(rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    listed = list(rows)
    widths = [max(len(row[column]) for row in listed) for column in range(len(listed[0]))]
    for row in listed:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def table(spec: MachineSpec[Any]) -> str:
    """Return the machine as aligned text."""
    states = [("STATE", "PHASES", "MEANING")]
    for state in spec.states:
        shown = ", ".join(phase or '""' for phase in state.phases) or "-"
        states.append((state.name, shown, state.meaning + (" Final." if state.final else "")))
    moves = [("EVENT", "FROM", "TO", "IF")]
    moves.extend((move.trigger, ", ".join(move.sources), move.dest, " and ".join(move.guards)) for move in spec.moves)
    return "\n".join((spec.title, "", *_columns(states), "", *_columns(moves), ""))


def mermaid(spec: MachineSpec[Any]) -> str:
    """Return the machine as a Mermaid state diagram. Arrows carry the events; guards are in the table."""
    lines = ["stateDiagram-v2", f"    [*] --> {_id(spec.initial)}"]
    lines += [f"    state {state.name!r} as {_id(state.name)}".replace("'", '"') for state in spec.states]
    for (source, dest), labels in _arrows(spec).items():
        triggers = dict.fromkeys(label.partition(" ")[0] for label in labels)
        lines.append(f"    {_id(source)} --> {_id(dest)}: {', '.join(triggers)}")
    lines += [f"    {_id(state.name)} --> [*]" for state in spec.states if state.final]
    return "\n".join((*lines, ""))


def dot(spec: MachineSpec[Any]) -> str:
    """Return the machine as a Graphviz digraph, guards included."""
    lines = [f'digraph "{spec.name}" {{', "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for state in spec.states:
        shape = ", peripheries=2" if state.final else ""
        lines.append(f'  "{state.name}" [tooltip="{state.meaning}"{shape}];')
    for (source, dest), labels in _arrows(spec).items():
        text = "\\n".join(labels)
        lines.append(f'  "{source}" -> "{dest}" [label="{text}"];')
    return "\n".join((*lines, "}", ""))


def _id(state: str) -> str:
    return state.replace("-", "_")

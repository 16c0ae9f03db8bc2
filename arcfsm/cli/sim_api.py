"""`arcfsm sim api`: the simulated API server by itself, for `kubectl`, real clients and conformance runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arcfsm.cli.options import RefusedError

if TYPE_CHECKING:
    from arcfsm.sim.api.request import JsonObject


def serve_api(port: int, kubeconfig: Path, crds: Path | None, gc: bool, control_port: int | None) -> None:
    """Serve until interrupted. Raises RefusedError when it cannot start."""
    from arcfsm.sim.api.serving import LOOPBACK, Service, write_private

    definitions = _definitions(crds)
    try:
        service = Service(crds=definitions, collects=gc, port=port, control_port=control_port)
    except OSError as error:
        ports = " or ".join(str(each) for each in (port, control_port) if each)
        raise RefusedError(f"cannot listen on port {ports} of {LOOPBACK}: {error.strerror or error}") from error
    try:
        write_private(kubeconfig, service.kubeconfig().encode())
    except OSError as error:
        raise RefusedError(f"cannot write {kubeconfig}: {error.strerror or error}") from error

    def ready() -> None:
        control = f", control on {service.control_url}" if service.control_url else ""
        typer.echo(f"arcfsm: simulated API server on {service.url}, kubeconfig {kubeconfig}{control}")

    try:
        service.run(ready)
    except KeyboardInterrupt:
        return


def _definitions(folder: Path | None) -> list[JsonObject] | None:
    from arcfsm.sim.api.custom_resources import load_crds

    if folder is None:
        return None
    try:
        return load_crds(folder)
    except OSError as error:
        raise RefusedError(f"cannot read custom resource definitions in {folder}: {error.strerror}") from error
    except ValueError as error:
        raise RefusedError(str(error)) from error


def api_command(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of loopback; 0 takes a free one.")] = 0,
    kubeconfig: Annotated[
        Path, typer.Option("--kubeconfig", help="Where to write a kubeconfig with a cluster admin's token.")
    ] = Path("arcfsm-sim.kubeconfig"),
    crds: Annotated[
        Path | None,
        typer.Option("--crds", help="Folder of CRDs to serve instead of the project's own.", show_default=False),
    ] = None,
    gc: Annotated[bool, typer.Option("--gc", help="Collect garbage and empty terminating namespaces.")] = False,
    control_port: Annotated[
        int | None,
        typer.Option(
            "--control-port",
            min=0,
            max=65535,
            help='Also serve a control endpoint for tests: POST {"compact": VERSION}.',
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve a simulated Kubernetes API server on loopback until interrupted.

    It starts empty, keeps everything in memory, and prints one line when it is ready.
    """
    serve_api(port, kubeconfig, crds, gc, control_port)

"""`arcfsm sim api`: serve the simulated API server on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml


def api_command(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port on loopback; 0 takes any free one.")
    ] = 6443,
    kubeconfig: Annotated[
        Path, typer.Option("--kubeconfig", help="Where to write the kubeconfig of a cluster administrator.")
    ] = Path("arcfsm-sim.kubeconfig"),
    crds: Annotated[
        Path | None,
        typer.Option(
            "--crds", help="Folder with CustomResourceDefinitions to serve; our own by default.", show_default=False
        ),
    ] = None,
    gc: Annotated[bool, typer.Option("--gc", help="Run the garbage collector and the namespace controller.")] = False,
    control_port: Annotated[
        int | None,
        typer.Option(
            "--control-port",
            min=0,
            max=65535,
            help='Port on loopback that takes {"compact": RESOURCE_VERSION} from tests.',
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve a simulated Kubernetes API server on loopback, for kubectl and client libraries.

    Nothing runs in it: pods stay as they are created. All is forgotten when it ends.
    """
    from arcfsm.sim.apiserver.serving import serve

    def ready(url: str, control_url: str) -> None:
        control = f", control at {control_url}" if control_url else ""
        typer.echo(f"arcfsm: API server ready at {url}, kubeconfig in {kubeconfig}{control}")

    try:
        serve(port=port, control_port=control_port, config_path=kubeconfig, definitions=crds, collect=gc, ready=ready)
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        typer.echo(f"arcfsm: cannot serve: {reason}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        return

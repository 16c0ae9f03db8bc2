"""`arcfsm sim`: the simulated cluster."""

from __future__ import annotations

import typer

from arcfsm.cli.sim_api import api_command
from arcfsm.cli.sim_test import test_command

sim_app = typer.Typer(
    no_args_is_help=True,
    help="The simulated cluster: an API server to try things on, and runs with faults by seed.",
    rich_markup_mode=None,
)
sim_app.command("api")(api_command)
sim_app.command("test")(test_command)

"""The root of the command line: which commands there are, and how errors leave.

Commands return; errors that a user can do something about arrive here as exceptions of known kinds and leave as one
line on stderr with the exit code of architecture.md §8. A traceback reaches a user only with `--debug`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from arcfsm import __version__
from arcfsm.cli.audit import audit_app
from arcfsm.cli.import_command import import_command
from arcfsm.cli.journal import journal_app
from arcfsm.cli.machines import machines_command
from arcfsm.cli.replay import replay_command
from arcfsm.cli.sim_api import api_command
from arcfsm.cli.sim_test import test_command
from arcfsm.cli.state import state_command
from arcfsm.cli.why import why_command
from arcfsm.journal import JournalError

USAGE: Final = 2
"""Exit code: wrong usage or unreadable input."""
INTERRUPTED: Final = 130
JOURNAL: Final = 3
"""Exit code: the journal can't be reached, or is newer than this program."""

app = typer.Typer(
    name="arcfsm",
    help="An event-sourced controller for GitHub Actions runner scale sets, and the history it keeps.",
    epilog="Exit codes: 0 fine; 1 the answer is no; 2 usage or unreadable input; 3 the journal can't be used.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"arcfsm {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something goes wrong.")] = False,
) -> None:
    """Hold what all commands share."""
    context.obj = {"debug": debug, "version": version}


app.command("import")(import_command)
app.add_typer(audit_app, name="audit")
app.command("why")(why_command)
app.command("state")(state_command)
app.command("replay")(replay_command)
app.add_typer(journal_app, name="journal")
app.command("machines")(machines_command)
sim_app = typer.Typer(
    no_args_is_help=True,
    help="The simulated cluster: an API server to try things on, and runs with faults by seed.",
    rich_markup_mode=None,
)
sim_app.command("api")(api_command)
sim_app.command("test")(test_command)
app.add_typer(sim_app, name="sim")


def command_names() -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, groups before their members, in the order of the help."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if words:
            yield words
        for name, member in getattr(command, "commands", {}).items():
            yield from walk(member, (*words, name))

    return walk(typer.main.get_command(app), ())


def main() -> None:
    """Run a command and leave with its exit code."""
    debug = "--debug" in sys.argv
    try:
        code = app(prog_name="arcfsm", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = _say("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            # Nothing was asked: what can be asked is the answer.
            typer.echo(error.format_message())
            sys.exit(USAGE)
        code = _say(_advised(error), getattr(error, "exit_code", USAGE))
    except JournalError as error:
        if debug:
            raise
        code = _say(str(error), JOURNAL)
    except BrokenPipeError:
        # The reader of a pipe has seen enough (`| head`); closing stdout quietly is what it expects.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _advised(error: typer.TyperException) -> str:
    """Return what was wrong with a call, and where its help is."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    return f"{message} (see `{context.command_path} --help`)" if context is not None else message


def _say(message: str, code: int) -> int:
    print(f"arcfsm: {message}", file=sys.stderr)  # noqa: T201  # this is where errors reach people
    return code

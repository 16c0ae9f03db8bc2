"""The root of the command line: which commands there are, and how errors leave.

A command's module is imported when the command is asked for, so that `--version` and a typo need not wait for a
database library. Commands return; errors that a user can do something about arrive here and leave as one line on stderr
with the exit code of architecture.md §8. A traceback reaches a user only with `--debug`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from arcfsm import __version__
from arcfsm.errors import ArcfsmError

USAGE: Final = 2
"""Exit code: wrong usage or unreadable input."""
INTERRUPTED: Final = 130

COMMANDS: Final = {
    "import": "arcfsm.cli.import_command:import_command",
    "audit": "arcfsm.cli.audit:audit_app",
    "why": "arcfsm.cli.why:why_command",
    "state": "arcfsm.cli.state:state_command",
    "replay": "arcfsm.cli.replay:replay_command",
    "journal": "arcfsm.cli.journal:journal_app",
    "machines": "arcfsm.cli.machines:machines_command",
    "sim": "arcfsm.cli.sim:sim_app",
}
"""Every command, or group of commands, and where it is defined."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"arcfsm {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something goes wrong.")] = False,
) -> None:
    """Take the options that stand before a command; `main` reads them itself."""


def application(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command line; where the words name a command, with that command alone."""
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
    app.callback()(root)
    asked = next((word for word in words if not word.startswith("-")), "")
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def command_names() -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, groups before their members, in the order of the help."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if words:
            yield words
        for name, member in getattr(command, "commands", {}).items():
            yield from walk(member, (*words, name))

    return walk(typer.main.get_command(application()), ())


def main() -> None:
    """Run a command and leave with its exit code."""
    words = sys.argv[1:]
    if words == ["--version"]:
        typer.echo(f"arcfsm {__version__}")
        sys.exit(0)
    try:
        code = application(words)(prog_name="arcfsm", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = _say("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            # Nothing was asked: what can be asked is the answer.
            typer.echo(error.format_message())
            sys.exit(USAGE)
        code = _say(_advised(error), getattr(error, "exit_code", USAGE))
    except ArcfsmError as error:
        if "--debug" in words:
            raise
        code = _say(str(error), error.exit_code)
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

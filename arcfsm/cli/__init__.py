"""The command line: the composition root that people see.

Commands return; errors that a user can do something about arrive here as exceptions of known kinds and leave as one
line on stderr with the exit code of architecture.md §8. A traceback reaches a user only with `--debug`.
"""

from arcfsm.cli.root import main

__all__ = ["main"]

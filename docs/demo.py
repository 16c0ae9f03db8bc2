"""A recorded incident, from watch lines to answers: what `make demo` runs.

All in one process, so that it shows in seconds; every command is one that can be typed as shown.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from arcfsm.cli import root

SCALE_SET: Final = "ci-runners/ci-linux"
NEXT: Final = """\
  arcfsm state                          everything, as it was at the end; --at travels back
  arcfsm why runner/NAMESPACE/NAME      one runner's story, backwards
  arcfsm import FILE                    your own: kubectl get ... -w --output-watch-events -o json > FILE
"""


def say(text: str) -> None:
    """Print a headline."""
    bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    sys.stdout.write(f"\n{bold[0]}{text}{bold[1]}\n")


def run(*words: str) -> None:
    """Run a command as if typed. Exit code 1 is an answer, such as "there is a stall"; any other ends the demo."""
    sys.stdout.write(f"\n$ arcfsm {' '.join(words)}\n")
    sys.stdout.flush()
    sys.argv = ["arcfsm", *words]
    try:
        root.main()
    except SystemExit as left:
        if left.code not in (None, 0, 1):
            raise
    sys.stdout.flush()


def main() -> None:
    """Tell the story."""
    say("1. What a cluster said for a minute: an operator changed the runner image while two runners were busy.")
    run("import", "--sample", "spec-update-with-busy-runner")
    say("2. Which states did the sets and the listener go through?")
    kinds = ("--kind", "scale-set", "--kind", "runner-set", "--kind", "listener")
    run("audit", "transitions", "--scale-set", SCALE_SET, *kinds)
    say("3. It fell silent. Does anything wait that nobody will serve?")
    run("audit", "stalls")
    say("4. Why?")
    run("why", f"runner-set/{SCALE_SET}")
    say("5. Where would arcfsm have decided otherwise?")
    run("audit", "decisions", "--diverging")
    say("6. Is the journal whole, and would this version decide the same again?")
    run("journal", "verify")
    run("replay", "--verify")
    say("Next")
    journal = os.environ["ARCFSM_JOURNAL"]
    sys.stdout.write(f"{NEXT}\nThe journal is {journal}; set ARCFSM_JOURNAL to it to ask it more.\n")


if __name__ == "__main__":
    main()

"""Write the reference pages that follow from code, and the README's transcript; `--check` only says what is stale."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from arcfsm.cli.reference import PAGES

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
TRANSCRIPT = re.compile(r"(```console\n)(.*?)(```)", re.DOTALL)


def main(arguments: list[str]) -> int:
    """Write every page, or with `--check` only compare. Returns the exit code."""
    pages = {HERE / name: page() for name, page in PAGES.items()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        if stale:
            print(f"stale: {', '.join(path.name for path in stale)}; run `make docs`")  # noqa: T201  # for people
        return int(bool(stale))
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(TRANSCRIPT.sub(lambda found: found[1] + retold(found[2]) + found[3], text), encoding="utf-8")
    return 0


def retold(transcript: str) -> str:
    """Run the commands of a transcript again, in an empty folder, and return it with what they print now."""
    environment = {name: value for name, value in os.environ.items() if name != "ARCFSM_JOURNAL"}
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for command in re.findall(r"^\$ arcfsm (.*)$", transcript, re.MULTILINE):
            done = subprocess.run(  # noqa: S603  # our own interpreter and our own words
                [sys.executable, "-m", "arcfsm", *command.split()],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            said = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
            parts.append(f"$ arcfsm {command}\n{said}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Write the reference pages that follow from code; with `--check`, only say which are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from arcfsm.cli.reference import PAGES

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Write every page, or with `--check` only compare. Returns the exit code."""
    stale = []
    for name, page in PAGES.items():
        path, text = HERE / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    if "--check" in arguments and stale:
        print(f"stale: {', '.join(stale)}; run `make docs`")  # noqa: T201  # a script for people
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

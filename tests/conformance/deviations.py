"""The known deviations, read from the page that documents them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"
BEGIN, END = "<!-- deviations: begin -->", "<!-- deviations: end -->"


def listed():
    """Return the names of the listed recordings."""
    text = PAGE.read_text(encoding="utf-8")
    part = text[text.index(BEGIN) : text.index(END)]
    return set(re.findall(r"^\| `([a-z]+/[a-z-]+)` \|", part, re.MULTILINE))

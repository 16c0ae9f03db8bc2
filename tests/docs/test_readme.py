"""The README shows real output: what its commands print here is what stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from arcfsm.cli import root

README = Path(__file__).parents[2] / "README.md"


def transcript() -> list[tuple[list[str], str]]:
    """The commands of the README's console block, each with what it is said to print."""
    block = re.search(r"```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert block is not None
    told = re.split(r"^\$ arcfsm ", block.group(1), flags=re.MULTILINE)[1:]
    return [(one.partition("\n")[0].split(), one.partition("\n")[2].strip("\n")) for one in told]


def test_every_command_prints_what_the_readme_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARCFSM_JOURNAL", raising=False)
    for words, shown in transcript():
        monkeypatch.setattr(sys, "argv", ["arcfsm", *words])
        with pytest.raises(SystemExit):
            root.main()
        said = "\n".join(line.rstrip() for line in capsys.readouterr().out.strip("\n").splitlines())
        assert _timeless(said) == _timeless(shown), " ".join(words)


def _timeless(text: str) -> str:
    # The hash covers the time of recording, which is now.
    return re.sub(r"head [0-9a-f]{64}", "head …", text)

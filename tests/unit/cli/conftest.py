"""Commands as people call them: words in, exit code and text out."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from arcfsm.cli import root
from arcfsm.samples import sample_path


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def arcfsm(capsys, monkeypatch, tmp_path):
    """Call a command in process, on a journal of this test's own."""
    monkeypatch.setenv("ARCFSM_JOURNAL", f"sqlite:///{tmp_path / 'journal.db'}")
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["arcfsm", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            root.main()
        out, err = capsys.readouterr()
        return Said(left.value.code or 0, out, err)

    return call


@pytest.fixture
def incident(arcfsm):
    """The same, with the bundled incident imported."""
    assert arcfsm("import", str(sample_path("spec-update-with-busy-runner"))).code == 0
    return arcfsm

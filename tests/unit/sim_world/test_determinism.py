"""The same seed gives the same trace whatever the hash seed and the Python version."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.sim_world.trace_digests import digests

ROOT = Path(__file__).parents[3]


def run_elsewhere(python, hash_seed, path=""):
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), path])),
    }
    command = [python, "-W", "ignore", "-m", "tests.unit.sim_world.trace_digests"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_hash_seeds_change_nothing():
    here = digests()
    assert run_elsewhere(sys.executable, "0") == here
    assert run_elsewhere(sys.executable, "1") == here


def python_of_another_version():
    """Find a Python of the other supported version and what it needs to import, or say why there is none.

    Packages are not installed here: set ARCFSM_OTHER_PYTHON to an interpreter that has the project's dependencies.
    """
    configured = os.environ.get("ARCFSM_OTHER_PYTHON", "")
    found = configured or shutil.which("python3.13") or str(Path.home() / ".pyenv/versions/3.13.0/bin/python3.13")
    if sys.version_info[:2] == (3, 13) and not configured:
        return "", "this is Python 3.13 already"
    if not Path(found).exists():
        return "", "there is no python3.13 here"
    return found, ""


def test_another_python_version_changes_nothing():
    python, why_not = python_of_another_version()
    if not python:
        pytest.skip(why_not)
    needs = "orjson", "pydantic", "yaml", "jwt", "starlette"
    probe = subprocess.run([python, "-c", f"import {', '.join(needs)}"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"{python} lacks the dependencies: {probe.stderr.strip().splitlines()[-1]}")
    assert run_elsewhere(python, "7") == digests()

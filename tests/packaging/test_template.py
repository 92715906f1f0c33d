"""The template of a packaged pipeline is built, installed beside the wheel, and found by its entry point."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Environment

# The first of them builds a wheel and installs it: most of a minute on a free machine, far more on a busy one.
pytestmark = pytest.mark.timeout(1200)

TEMPLATE = ROOT / "examples" / "pipeline-template"


@pytest.fixture(scope="module")
def installed(bare: Environment, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment with the template in it, installed from its own wheel."""
    folder = tmp_path_factory.mktemp("template")
    source = folder / "source"
    shutil.copytree(TEMPLATE, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    bare.install("--no-deps", str(next(folder.glob("receipts_pipeline-*.whl"))))
    return bare


@pytest.mark.long
def test_an_installed_pipeline_is_found_run_and_shown(
    installed: Environment, tmp_path: Path
) -> None:
    data = ("--data", str(tmp_path / "data"))
    sample = TEMPLATE / "src" / "receipts" / "samples" / "receipt.txt"

    machines = installed.command(*data, "machine", "list", "--json", folder=tmp_path)
    done = installed.command(
        *data, "submit", str(sample), "--machine", "receipts", "--wait", "--json", folder=tmp_path
    )

    assert "receipts" in machines.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)
    assert row["status"] == "completed"
    items = installed.command(*data, "items", row["id"], "--stage", "read", folder=tmp_path)
    assert "Butter" in items.stdout, items.stderr
    demo = installed.command("demo", "--only", "receipts", folder=tmp_path)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "receipt.txt" in demo.stdout + demo.stderr


@pytest.mark.long
def test_the_template_s_own_test_passes(tmp_path: Path) -> None:
    """With the Stateward of this environment, from a folder without our own settings of pytest."""
    source = tmp_path / "template"
    shutil.copytree(TEMPLATE, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environment = {**os.environ, "PYTHONPATH": str(source / "src")}

    done = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr

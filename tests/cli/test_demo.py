"""`stateward demo`: what a newcomer sees first."""

import re
from pathlib import Path

import pytest

from tests.cli.calling import Shell, run


def test_the_demo_tells_a_person_what_happened(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stateward-demo").is_dir()
    rows = [line.split() for line in done.stdout.splitlines() if re.search(r"\bnew\b +UL_", line)]
    statuses = [row[3] for row in rows]
    assert (statuses.count("normalized"), statuses.count("error")) == (13, 2)
    assert "parsing → parsed (parse.completed, 12 observations)" in done.stdout
    assert "SHEET_CORRUPT: the spreadsheet is damaged" in done.stdout
    assert re.search(r"stateward --data stateward-demo retry UL_\w+", done.stdout)
    assert "stateward --data stateward-demo list" in done.stdout


def test_a_second_run_says_that_the_documents_are_known(shell: Shell) -> None:
    shell("demo")

    done = shell("demo")

    assert done.exit_code == 0
    assert done.stdout.count("known from an earlier run") == 15
    assert len(shell.ids()) == 15


def test_the_demo_leaves_the_database_of_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATEWARD_STORE_URL", f"sqlite://{tmp_path / 'work.db'}")

    done = Shell(tmp_path / "demo")("demo")

    assert done.exit_code == 0
    assert not (tmp_path / "work.db").exists()


def test_the_commands_that_it_names_work(shell: Shell) -> None:
    lines = shell("demo").stdout.splitlines()

    commands = [line.split()[3:] for line in lines if line.startswith("  stateward --data")]
    runnable = [
        each
        for each in commands
        if each[0] in {"list", "items", "logs", "errors", "verify", "machine"}
    ]
    assert len(runnable) == 6
    assert all(shell(*each).exit_code == 0 for each in runnable)


def test_a_folder_with_a_space_is_quoted(tmp_path: Path) -> None:
    done = Shell(tmp_path / "my demo")("demo")

    assert f"stateward --data '{tmp_path / 'my demo'}' list" in done.stdout

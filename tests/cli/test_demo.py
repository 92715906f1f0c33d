"""`stateward demo`: what a newcomer sees first."""

import re
from pathlib import Path

import pytest

from stateward.cli.extensions import installed_plugins
from tests.cli.shell import Shell, run

# All pipelines at once, on a machine that does other things besides; the others show some, which is quicker.
DEMO_S_MAX = 240.0
SOME = ("demo", "--only", "contracts", "--only", "images")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What it says to a person who runs it in an empty folder."""
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", cwd=folder, timeout=DEMO_S_MAX)
    assert done.returncode == 0, done.stderr
    assert (folder / "stateward-demo").is_dir()
    return done.stdout


@pytest.mark.long
def test_the_demo_tells_a_person_what_happened(told: str) -> None:
    rows = [line.split() for line in told.splitlines() if re.search(r"\bnew\b +UL_", line)]
    statuses = [row[3] for row in rows]
    assert statuses.count("normalized") >= 13
    assert statuses.count("error") == 2
    assert re.search(r"parsing → parsed \(parse.completed, \d+ observations\)", told)
    assert "SHEET_CORRUPT: the spreadsheet is damaged" in told
    assert re.search(r"stateward --data stateward-demo retry UL_\w+", told)
    assert "stateward --data stateward-demo list" in told


@pytest.mark.long
def test_the_demo_shows_a_contract_accepted_one_for_a_person_and_one_that_was_retried(
    told: str,
) -> None:
    rows = [line.split() for line in told.splitlines() if re.search(r"\bnew\b +CW_", line)]
    assert {row[0]: row[3] for row in rows} == {
        "mobilfunk-kellerfunk.docx": "review_required",
        "strom-vattenfall.pdf": "completed",
        "wasser-talheim.txt": "completed",
    }
    assert "Talstrom Klar 24 saves 315.70 EUR in the first year" in told
    assert "UNKNOWN_PROVIDER" in told
    assert "extracting → failed (extract.failed, UNKNOWN_VERTICAL" in told
    assert "failed → extracting (retry.requested, reason: water.yaml was added)" in told
    assert told.count("parsing_pdf → extracting") == 1, "what was read is not read again"


@pytest.mark.long
def test_every_pipeline_with_samples_is_in_the_summary(told: str) -> None:
    _, _, summary = told.partition("All of them:")
    rows = {line.split()[0]: line.split() for line in summary.splitlines() if line.split()}

    expected = [plugin.name for plugin in installed_plugins() if plugin.demo.samples]
    assert len(expected) >= 2
    assert [name for name in expected if name not in rows or int(rows[name][1]) < 1] == []
    assert "A search for idle mills at slack tides finds Tide mills and the price of" in summary


def test_a_second_run_says_that_the_documents_are_known(shell: Shell) -> None:
    shell(*SOME)

    done = shell(*SOME)

    assert done.exit_code == 0
    assert [
        each for each in (shell.data, *shell.data.iterdir()) if each.stat().st_mode & 0o077
    ] == []
    assert done.stdout.count("known from an earlier run") == len(shell.ids()) >= 6


@pytest.mark.long
def test_the_demo_leaves_the_database_of_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATEWARD_STORE_URL", f"sqlite://{tmp_path / 'work.db'}")

    done = Shell(tmp_path / "demo")(*SOME)

    assert done.exit_code == 0
    assert not (tmp_path / "work.db").exists()


@pytest.mark.long
def test_the_commands_that_it_names_work(shell: Shell) -> None:
    lines = shell(*SOME).stdout.splitlines()

    commands = [line.split()[3:] for line in lines if line.startswith("  stateward --data")]
    runnable = [
        each
        for each in commands
        if each[0] in {"list", "items", "logs", "errors", "verify", "machine"}
    ]
    assert {each[0] for each in runnable} == {
        "list",
        "items",
        "logs",
        "errors",
        "verify",
        "machine",
    }
    assert all(shell(*each).exit_code == 0 for each in runnable)


@pytest.mark.long
def test_a_folder_with_a_space_is_quoted(tmp_path: Path) -> None:
    done = Shell(tmp_path / "my demo")(*SOME)

    assert f"stateward --data '{tmp_path / 'my demo'}' list" in done.stdout


@pytest.mark.parametrize("is_on_path", [True, False])
def test_the_commands_that_it_names_are_found_by_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_on_path: bool
) -> None:
    program = tmp_path / ".venv" / "bin" / "stateward"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(program.parent if is_on_path else tmp_path))

    told = Shell(tmp_path / "stateward-demo")("demo", "--only", "web").stdout

    named = "stateward" if is_on_path else ".venv/bin/stateward"
    assert f"\n  {named} --data " in told

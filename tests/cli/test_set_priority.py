"""`stateward set-priority`: records go sooner or later, one or many, after a look at the counts."""

from pathlib import Path

import pytest

from stateward.app import App
from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    with App.embedded(tmp_path) as app:
        for content in (b"1", b"2"):
            app.submit(content, name="x.csv")
        app.actions.act("cancel", app.submit(b"3").record.id, actor="person:anna", reason=None)
    return Shell(tmp_path)


def test_one_record_gets_another_priority(shell: Shell) -> None:
    record_id = shell.ids("is:waiting")[0]

    done = shell("set-priority", record_id, "--to", "9", "--reason", "a customer waits")

    assert (done.exit_code, done.stdout) == (0, f"{record_id} has priority 9\n")
    assert shell.json("status", record_id)["priority"] == 9


def test_many_are_counted_first(shell: Shell) -> None:
    foreseen = shell.json("set-priority", "--query", "is:waiting", "--to", "2", "--dry-run")
    before = [view["priority"] for view in shell.json("list", "is:waiting")]
    done = shell("set-priority", "--query", "is:waiting", "--to", "2", "--yes")

    assert (foreseen["applied"], before) == (2, [5, 5])
    assert "2 given a new priority" in done.stdout
    assert [view["priority"] for view in shell.json("list", "is:waiting")] == [2, 2]


def test_a_priority_that_does_not_count_is_stored_and_the_person_is_told(shell: Shell) -> None:
    of_one = shell("set-priority", shell.ids("is:waiting")[0], "--to", "9")
    of_many = shell("set-priority", "--query", "is:waiting", "--to", "9", "--yes")
    submitted = shell("submit", "-", "--machine", "upload", "--priority", "9", stdin=b"new")
    usual = shell("submit", "-", "--machine", "upload", stdin=b"other")

    for done in (of_one, of_many, submitted):
        assert "a priority does not count for upload: first come, first served" in done.stderr
    assert "priority" not in usual.stderr


def test_where_priorities_count_no_more_is_said(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATEWARD_PROFILE", "enterprise")

    of_one = shell("set-priority", shell.ids("is:waiting")[0], "--to", "9")
    of_many = shell("set-priority", "--query", "is:waiting", "--to", "9", "--yes")

    assert "priority" not in of_one.stderr + of_many.stderr


def test_a_priority_that_is_none_is_refused(shell: Shell) -> None:
    done = shell("set-priority", shell.ids()[0], "--to", "11")

    assert done.exit_code == 3
    assert "1 to 10" in done.stderr


def test_an_empty_query_never_means_all(shell: Shell) -> None:
    done = shell("set-priority", "--query", "", "--to", "9", "--yes")

    assert done.exit_code != 0
    assert "every record" in done.stderr

"""Retry, cancel, pause, resume: what a person asks for, and what the machine refuses."""

import json
from pathlib import Path

import pytest

from stateward.cli.context import CliContext
from stateward.cli.exit_codes import Exit
from tests.cli.shell import Shell


def submit(shell: Shell, folder: Path, count: int) -> list[str]:
    files = []
    for number in range(count):
        files.append(folder / f"{number}.csv")
        files[-1].write_text(f"row,{number}\n")
    return [row["id"] for row in shell.json("submit", *map(str, files))]


def test_a_failed_record_is_retried_with_its_reason(demo: Shell) -> None:
    (bad,) = demo.ids("status:error")

    done = demo("retry", bad, "--reason", "mended")

    last = demo.json("history", bad)[-1]
    assert done.exit_code == 0
    assert done.stdout == f"{bad}: error → queued_for_parse (retry.requested, reason: mended)\n"
    assert (last["to"], last["metadata"]["reason"]) == ("queued_for_parse", "mended")
    assert last["actor"].startswith("person:")


def test_what_the_machine_refuses_is_refused_with_what_is_allowed(demo: Shell) -> None:
    whole = demo.ids("status:normalized")[0]

    done = demo("retry", whole, "--json")

    error = json.loads(done.stderr)["error"]
    assert done.exit_code == Exit.REFUSED
    assert (error["expected"], error["found"], error["allowed"]) == ("retry", "normalized", [])
    assert demo.json("status", whole)["version"] == 4


def test_a_dry_run_counts_and_changes_nothing(demo: Shell) -> None:
    answer = demo.json("retry", "--query", "machine:upload", "--dry-run")
    text = demo("retry", "--query", "machine:upload", "--dry-run").stdout

    assert (answer["matched"], answer["applied"], answer["is_dry_run"]) == (3, 1, True)
    assert answer["by_status"] == {"normalized": 2, "error": 1}
    assert answer["refused"] == {"impossible": 2}
    assert "3 records matched; 1 would be retried" in text
    assert "2 would be refused: the machine has no such move" in text
    assert len(demo.ids("status:error")) == 1


def test_what_a_person_cancelled_is_not_counted_as_failed(demo: Shell, tmp_path: Path) -> None:
    submit(demo, tmp_path, 2)
    demo("cancel", "--query", "is:waiting", "--yes", "--reason", "sent twice")

    rows = {row["status"]: (row["count"], row["cancelled"]) for row in demo.json("counts")}
    lines = [line.split() for line in demo("counts").stdout.splitlines()[1:]]

    assert rows == {"normalized": (2, 0), "error": (3, 2)}
    assert lines == [
        ["upload", "normalized", "2"],
        ["upload", "error", "1"],
        ["upload", "cancelled", "2"],
    ]


def test_a_query_is_acted_on_as_a_whole(shell: Shell, tmp_path: Path) -> None:
    ids = submit(shell, tmp_path, 4)

    done = shell("cancel", "--query", "is:waiting", "--yes", "--reason", "all wrong")

    assert done.exit_code == 0
    assert "4 records matched; 4 cancelled" in done.stdout
    assert {view["error_code"] for view in shell.json("status", *ids)} == {"CANCELLED"}


def test_several_ids_are_one_action_and_refusals_are_told(demo: Shell) -> None:
    (bad,), whole = demo.ids("status:error"), demo.ids("status:normalized")

    done = demo("retry", bad, *whole)

    assert done.exit_code == Exit.REFUSED
    assert "3 records matched; 1 retried" in done.stdout
    assert all(each in done.stdout for each in whole)
    assert demo.json("status", bad)["status"] == "queued_for_parse"


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_query_is_refused_even_with_yes(demo: Shell, query: str) -> None:
    done = demo("cancel", "--query", query, "--yes")

    assert done.exit_code == Exit.REFUSED
    assert "an empty query would mean every record" in done.stderr


def test_a_misspelt_name_never_means_everything(demo: Shell) -> None:
    done = demo("retry", "--query", "-status:errors", "--yes")

    assert done.exit_code == Exit.REFUSED
    assert "did you mean error?" in done.stderr
    assert len(demo.ids("status:error")) == 1


def test_without_a_person_to_ask_a_query_needs_yes(demo: Shell) -> None:
    done = demo("retry", "--query", "status:error")

    assert done.exit_code == Exit.REFUSED
    assert "1 record matching status:error" in done.stderr
    assert len(demo.ids("status:error")) == 1


@pytest.mark.parametrize(
    ("answer", "left", "code"), [("y", 0, Exit.OK), ("n", 1, Exit.INTERRUPTED)]
)
def test_a_person_sees_the_counts_and_is_asked(
    demo: Shell, monkeypatch: pytest.MonkeyPatch, answer: str, left: int, code: Exit
) -> None:
    monkeypatch.setattr(CliContext, "can_ask", lambda _: True)

    done = demo("retry", "--query", "machine:upload", stdin=f"{answer}\n".encode())

    assert "machine:upload matches 3 records: 1 in error, 2 in normalized" in done.stderr
    assert "of these 2 would be refused" in done.stderr
    assert "retry 1 record?" in done.stderr
    assert len(demo.ids("status:error")) == left
    assert done.exit_code == (code or Exit.REFUSED)  # of three, two could not be retried


def test_a_paused_stage_is_explained_and_goes_on(shell: Shell, tmp_path: Path) -> None:
    (record_id,) = submit(shell, tmp_path, 1)

    paused = shell("pause", "upload", "--stage", "parse", "--reason", "being mended")
    why = shell.json("explain", record_id)
    resumed = shell("resume", "upload", "--stage", "parse")
    again = shell("resume", "upload", "--stage", "parse")

    assert paused.stdout == "stage parse of upload is paused\n"
    assert why["code"] == "paused"
    assert "being mended" in why["sentence"]
    assert resumed.stdout == "stage parse of upload goes on\n"
    assert again.stdout == "stage parse of upload was not paused\n"


def test_a_whole_machine_is_paused_for_programs_too(shell: Shell) -> None:
    paused, resumed = shell.json("pause", "upload"), shell.json("resume", "upload")

    assert paused == {"machine": "upload", "stage": None, "is_paused": True}
    assert resumed == {"machine": "upload", "stage": None, "is_paused": False, "was_paused": True}


def test_a_person_hears_progress_only_on_a_terminal(shell: Shell, tmp_path: Path) -> None:
    submit(shell, tmp_path, 30)

    done = shell("cancel", "--query", "is:waiting", "--yes")

    assert done.stderr == ""

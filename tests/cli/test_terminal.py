"""On a terminal: tables are drawn, JSON is pretty, questions are asked, and hostile text stays text."""

import json
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from tests.cli.shell import Shell, on_a_terminal

ESC, CSI, RTL = "\x1b", "\x9b", "\u202e"
HOSTILE = f"{ESC}]0;owned\x07{ESC}[2J[bold red]a{CSI}31m{RTL}\r\n.csv"


def test_a_table_is_drawn_and_an_id_is_never_broken(demo: Shell) -> None:
    code, seen = on_a_terminal(["--data", str(demo.data), "list"], columns=80)

    assert code == 0
    assert "─" in seen
    assert all(record_id in seen for record_id in demo.ids())


def test_json_is_pretty_on_a_terminal(demo: Shell) -> None:
    _, seen = on_a_terminal(["--data", str(demo.data), "counts", "--json"])

    assert seen.count("\r\n") > 3
    assert json.loads(seen)[0]["status"] == "normalized"


def test_a_person_is_asked_before_a_query_acts(demo: Shell) -> None:
    args = ["--data", str(demo.data), "retry", "--query", "status:error"]

    refused, _ = on_a_terminal(args, answer="n")
    agreed, seen = on_a_terminal(args, answer="y")

    assert (refused, agreed) == (Exit.INTERRUPTED, Exit.OK)
    assert "retry 1 record? [y/N]" in seen
    assert demo.ids("status:error") == []


def test_progress_is_shown_to_a_person_and_wiped_away(demo: Shell) -> None:
    code, seen = on_a_terminal(["--data", str(demo.data), "verify"])

    assert code == 0
    assert "\rdatabase: 0" in seen
    assert "are sound" in seen.splitlines()[-1]


@pytest.mark.long
def test_hostile_text_reaches_no_terminal_raw(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n")
    done = shell(
        "submit",
        str(file),
        "--name",
        HOSTILE,
        "--label",
        f"note={HOSTILE}",
        "--reason",
        HOSTILE,
        "--json",
    )
    (row,) = json.loads(done.stdout)
    record_id = row["id"]
    shell("pause", "upload", "--reason", HOSTILE)

    answers = {
        command: on_a_terminal(["--data", str(shell.data), *command.split()])[1]
        for command in (
            "list", f"status {record_id}", f"status {record_id} --json", f"history {record_id}",
            f"history {record_id} --json", f"explain {record_id}", "doctor", f"logs {record_id}",
            f"cancel {record_id}", f"history {record_id}", "list --jsonl",
        )
    }  # fmt: skip
    answers["retry"] = on_a_terminal(
        ["--data", str(shell.data), "retry", record_id, "--reason", HOSTILE]
    )[1]
    answers["unknown"] = on_a_terminal(["--data", str(shell.data), "status", HOSTILE])[1]
    answers["machine"] = on_a_terminal(["--data", str(shell.data), "machine", "show", HOSTILE])[1]

    for command, seen in answers.items():
        colourless = seen.replace(f"{ESC}[1m", "").replace(f"{ESC}[0m", "")  # rich's own bold heads
        assert ESC not in colourless, command
        assert CSI not in seen, command
        assert RTL not in seen, command
        assert "\x07" not in seen, command
        assert "\r" not in seen.replace("\r\n", ""), command
    assert "[bold red]" in answers["list"]
    assert "\\x1b[2J" in answers[f"explain {record_id}"]
    assert json.loads(answers[f"status {record_id} --json"])["labels"]["filename"].startswith(ESC)

"""`stateward watch` and `stateward rebuild`: a folder as a context, and rows made anew."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from tests.archives import zipped
from tests.cli.shell import Shell, arguments
from tests.waiting import WAIT_S_MAX, wait_until

ROW = "Date,Text,Amount\n2026-01-05,{name},-1.00\n"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def quick(tmp_path: Path) -> list[str]:
    config = tmp_path / "quick.yaml"
    config.write_text("watch: {settle_seconds: 0.05, poll_seconds: 0.05}\n")
    return ["--config", str(config)]


def put(inbox: Path, name: str) -> Path:
    path = inbox / name
    path.write_text(ROW.format(name=name))
    return path


def test_every_file_is_taken_once_and_worked_off(
    shell: Shell, inbox: Path, quick: list[str]
) -> None:
    put(inbox, "a.csv")
    put(inbox, "b.csv")
    (inbox / "year.zip").write_bytes(zipped({"2026/c.csv": ROW.format(name="c").encode()}))

    first = shell(*quick, "watch", str(inbox), "--once", "--jsonl")
    second = shell(*quick, "watch", str(inbox), "--once", "--jsonl")

    rows = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(row["file"], row["outcome"]) for row in rows] == [
        ("a.csv", "new"), ("b.csv", "new"), ("year.zip/c.csv", "new"),
    ]  # fmt: skip
    assert (second.exit_code, second.stdout) == (Exit.OK, "")
    assert len(shell.ids("status:normalized")) == 3
    assert len(shell.ids("meta.archive:year.zip")) == 1
    assert sorted(path.name for path in inbox.iterdir()) == ["a.csv", "b.csv", "year.zip"]


def test_what_it_remembers_is_for_its_owner_alone(
    shell: Shell, inbox: Path, quick: list[str]
) -> None:
    put(inbox, "a.csv")

    before = os.umask(0)
    try:
        shell(*quick, "watch", str(inbox), "--once")
    finally:
        os.umask(before)

    assert [each for each in shell.data.rglob("*") if each.stat().st_mode & 0o077] == []


def test_a_file_that_changed_is_taken_again_and_one_with_known_bytes_is_a_duplicate(
    shell: Shell, inbox: Path, quick: list[str]
) -> None:
    path = put(inbox, "a.csv")
    shell(*quick, "watch", str(inbox), "--once")
    path.write_text(ROW.format(name="other"))
    (inbox / "copy.csv").write_text(ROW.format(name="a.csv"))

    done = shell(*quick, "watch", str(inbox), "--once")

    assert [line.split()[0] for line in done.stdout.splitlines()] == ["new", "duplicate"]


def test_half_written_and_hidden_files_are_left_alone(
    shell: Shell, inbox: Path, quick: list[str]
) -> None:
    for name in (".hidden.csv", "a.csv.part", "b.pdf.crdownload", "~$open.xlsx"):
        put(inbox, name)
    (inbox / "folder").mkdir()
    (inbox / "link.csv").symlink_to(put(inbox, "real.txt"))

    done = shell(*quick, "watch", str(inbox), "--once")

    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["real.txt"]


def test_files_are_moved_if_the_settings_say_so(shell: Shell, inbox: Path, tmp_path: Path) -> None:
    config = tmp_path / "move.yaml"
    config.write_text(
        "watch: {settle_seconds: 0, poll_seconds: 0.05, after: move}\nlimits: {upload_bytes_max: 60}\n"
    )
    put(inbox, "a.csv")
    (inbox / "large.csv").write_text("x" * 100)

    done = shell("--config", str(config), "watch", str(inbox), "--once")
    put(inbox, "a.csv")
    shell("--config", str(config), "watch", str(inbox), "--once")

    assert done.exit_code == Exit.REFUSED
    assert sorted(path.name for path in (inbox / "done").iterdir()) == ["a-1.csv", "a.csv"]
    assert [path.name for path in (inbox / "refused").iterdir()] == ["large.csv"]


def test_a_folder_that_is_not_there_is_refused(shell: Shell, tmp_path: Path) -> None:
    done = shell("watch", str(tmp_path / "nowhere"))

    assert done.exit_code == Exit.REFUSED
    assert "there is no folder" in done.stderr


def test_it_stays_takes_what_comes_and_ends_when_asked(
    shell: Shell, inbox: Path, quick: list[str]
) -> None:
    command = arguments("--data", str(shell.data), *quick, "watch", str(inbox), "--jsonl")
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        try:
            put(inbox, "a.csv")
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["file"] == "a.csv"
            wait_until(lambda: shell.ids("status:normalized"))
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S_MAX) == 0
        finally:
            process.kill()

    assert len(shell.ids("status:normalized")) == 1


# Rebuilding


@pytest.fixture
def ruled(tmp_path: Path) -> str:
    (tmp_path / "rules.yaml").write_text(
        "version: mine-1\nmerchants:\n  - {match: '^a', name: Alpha}\n"
    )
    config = tmp_path / "ruled.yaml"
    config.write_text("statements: {rules: rules.yaml}\n")
    return str(config)


def a_record(shell: Shell, tmp_path: Path) -> str:
    path = tmp_path / "a.csv"
    path.write_text(ROW.format(name="abc"))
    shell("submit", str(path), "--wait")
    return shell.ids()[0]


def test_rows_are_made_anew_by_new_rules_and_the_old_ones_stay(
    shell: Shell, tmp_path: Path, ruled: str
) -> None:
    record = a_record(shell, tmp_path)

    done = shell("--config", ruled, "rebuild", record)
    again = shell("--config", ruled, "rebuild", record, "--json")

    assert done.stderr == f"rebuilt {record}: normalize 1 row\n"
    assert json.loads(again.stdout)[0]["outcome"] == "unchanged"
    assert shell.json("items", record)[0]["merchant"] == "Alpha"
    assert shell.json("items", record, "--edition", "0")[0]["merchant"] == "abc"
    assert shell.json("items", record, "--edition", "1")[0]["merchant"] == "Alpha"
    assert shell("items", record, "--edition", "2").exit_code == Exit.UNKNOWN
    assert "normalize, edition 1: done" in shell("logs", record).stdout
    assert shell.json("status", record)["version"] == 4
    assert shell("verify").exit_code == 0


def test_a_query_rebuilds_all_that_match_and_what_cannot_be_is_refused(
    shell: Shell, tmp_path: Path, ruled: str
) -> None:
    record = a_record(shell, tmp_path)
    bad = tmp_path / "bad.csv"
    bad.write_text("no table")
    shell("submit", str(bad), "--wait")

    some = shell("--config", ruled, "rebuild", "--query", "status:normalized", "--json")
    none = shell("--config", ruled, "rebuild", *shell.ids("status:error"))

    assert [row["id"] for row in json.loads(some.stdout)] == [record]
    assert none.exit_code == Exit.REFUSED
    assert "is error: there is nothing to rebuild yet" in none.stderr
    assert shell("rebuild").exit_code == Exit.USAGE


def test_a_file_of_rules_that_is_wrong_is_named(shell: Shell, tmp_path: Path, ruled: str) -> None:
    record = a_record(shell, tmp_path)
    (tmp_path / "rules.yaml").write_text("version: 1\nmerchants: [{match: '(', name: x}]\n")

    done = shell("--config", ruled, "rebuild", record)

    assert done.exit_code == Exit.REFUSED
    assert "is not a regular expression" in done.stderr


# Items in other formats


def test_items_are_written_in_other_formats(shell: Shell, tmp_path: Path) -> None:
    record = a_record(shell, tmp_path)

    texts = {
        form: shell("items", record, "--kind", "canonicals", "--format", form).stdout
        for form in ("csv", "ofx", "beancount", "json", "jsonl")
    }

    assert texts["csv"].startswith("id,date,amount,")
    assert "<TRNAMT>-1.00</TRNAMT>" in texts["ofx"]
    assert "; without a currency" in texts["beancount"]
    assert json.loads(texts["json"])[0] == json.loads(texts["jsonl"])
    assert shell("items", record, "--kind", "nothing").exit_code == Exit.UNKNOWN
    assert shell("items", record, "--kind", "x", "--stage", "y").exit_code == Exit.USAGE


def test_of_several_records_each_transaction_comes_once(shell: Shell, tmp_path: Path) -> None:
    for name, rows in (("a.csv", "x"), ("b.csv", "xy")):
        lines = "".join(f"2026-01-05,{row},-1.00\n" for row in rows)
        (tmp_path / name).write_text(f"Date,Text,Amount\n{lines}")
        shell("submit", str(tmp_path / name), "--wait")

    done = shell("items", *shell.ids(), "--unique")
    (twice,) = shell.json("duplicates")
    table = shell("duplicates")

    assert len(done.stdout.splitlines()) == 2
    assert (twice["description"], twice["first"], twice["again"]) == ("x", *shell.ids()[::-1])
    assert "1 item in more than one record" in table.stderr
    assert shell("duplicates", "status:error").stderr == "no item stands twice\n"

"""Short ids, CSV lists, shell completion, and that to look creates nothing."""

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from stateward.cli import BLAS_THREADS, cli
from stateward.cli.commands import Command
from stateward.cli.exit_codes import Exit
from stateward.cli.output import replacing
from stateward.cli.reference import root, walk
from tests.cli.shell import Shell


def test_the_beginning_of_an_id_is_enough_where_it_is_unique(demo: Shell) -> None:
    (bad,) = demo.ids("status:error")
    others = [each for each in demo.ids("") if each != bad]
    length = next(n for n in range(4, 40) if not any(o.startswith(bad[:n]) for o in others))

    answer = demo.json("explain", bad[:length])

    assert answer["id"] == bad


def test_the_beginning_of_several_ids_is_refused_with_them(demo: Shell) -> None:
    done = demo("history", demo.ids("")[0][:4])

    assert done.exit_code == Exit.REFUSED
    assert all(each in done.stderr for each in demo.ids(""))


def test_an_id_that_begins_no_other_is_unknown(demo: Shell) -> None:
    assert demo("status", "UL_zzzz").exit_code == Exit.UNKNOWN


def test_keys_and_webhooks_are_named_by_their_beginning_too(shell: Shell) -> None:
    key = shell("key", "create", "anna", "--role", "viewer").stdout.split("_")[1]
    hook = shell.json("webhook", "add", "https://example.org/x", "--event", "upload.error")["id"]

    assert shell("key", "revoke", key[:3]).exit_code == Exit.UNKNOWN, "three could be any"
    assert shell("key", "revoke", key[:4]).stdout == f"{key} is revoked\n"
    assert shell.json("webhook", "disable", hook[:12])["id"] == hook
    assert shell.json("webhook", "log", hook[:12]) == []
    assert f"{hook} is removed" in shell("webhook", "remove", hook[:12]).stderr


def test_a_list_is_written_as_csv_for_spreadsheets(demo: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(demo("list", "--format", "csv").stdout)))

    assert [row["status"] for row in rows].count("normalized") == 2
    assert {row["label.source_type"] for row in rows} == {"sample"}
    (bad,) = (row for row in rows if row["error_code"])
    assert (bad["error_code"], bad["canonicals_count"]) == ("UNKNOWN_FORMAT", "")


@pytest.mark.parametrize(
    "command",
    [
        "list", "counts", "doctor", "review list", "export items", "audit list", "hold --list", "retention",
        "retry --query status:error --dry-run", "reparse --outdated --dry-run",
        "erase --subject customer=1 --reason asked",
    ],
)  # fmt: skip
def test_to_look_at_a_folder_that_is_not_there_creates_none(tmp_path: Path, command: str) -> None:
    shell = Shell(tmp_path / "mistyped")

    told = shell(*command.split())

    assert told.exit_code == 0
    assert f"there is no data folder {tmp_path / 'mistyped'}" in told.stderr
    assert not (tmp_path / "mistyped").exists()


# Commands that change something or work on files of their own. Every other one must say that it only reads.
CHANGING = """
advance api backup bench cancel completion coordinator dead-letters demo erase hold notifier pause rebuild reparse
reprocess restore resume retention retry set-priority submit up watch worker
"""
CHANGING_GROUPS = """
eval ledger literature machine models rules secrets settings flag
"""
CHANGING_BELOW = """
review approve, review ask, review claim, review correct, review link, review reject, review revoke-link,
review unclaim, webhook add, webhook disable, webhook enable, webhook listen, webhook ping, webhook remove,
webhook replay, webhook rotate, key create, key link, key revoke, key signing create, key worker create,
key worker revoke, feed replay, clock confirm
"""


def test_every_command_reads_only_or_is_known_to_change_something() -> None:
    below = {each.strip() for each in CHANGING_BELOW.replace("\n", " ").split(",")}
    unknown = []
    for each in walk(root()):
        path = each.command_path.partition(" ")[2]
        is_known = path in {*CHANGING.split(), *below} or path.split()[0] in CHANGING_GROUPS.split()
        if isinstance(each.command, Command) and not each.command.is_reading and not is_known:
            unknown.append(path)
    assert unknown == []


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell: Shell, name: str) -> None:
    script = shell("completion", name).stdout

    assert "_STATEWARD_COMPLETE" in script
    if name == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)  # noqa: S607 - its syntax


@pytest.mark.parametrize(
    "words",
    [
        "submit",
        "submit a.csv",
        "backup",
        "restore",
        "machine check",
        "audit export",
        "literature add",
        "ledger state",
        "--data",
        "verify --data",
        "verify --checkpoint",
        "file UL_1 parse/a --out",
    ],
)
def test_files_are_completed_where_a_command_takes_one(words: str) -> None:
    completing = ShellComplete(cli, {}, "stateward", "_STATEWARD_COMPLETE")

    found = completing.get_completions(words.split(), "jan")

    assert [(each.type, each.value) for each in found] == [("file", "jan")]


def test_an_id_and_a_name_are_not_completed_as_files() -> None:
    completing = ShellComplete(cli, {}, "stateward", "_STATEWARD_COMPLETE")

    for words in ("status", "list", "key create", "file UL_1", "pause"):
        assert completing.get_completions(words.split(), "jan") == []


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_commands_and_files(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "january.csv").touch()
    script = tmp_path / "stateward.fish"
    script.write_text(shell("completion", "fish").stdout)
    asked = f"source {script}; complete -C 'stateward rest'; complete -C 'stateward submit jan'"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    done = subprocess.run(
        ["fish", "--no-config", "-c", asked],  # noqa: S607 - whichever there is
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    names = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert names == ["restore", "january.csv"], done.stderr


def test_fish_shows_descriptions_to_their_end(shell: Shell) -> None:
    script = shell("completion", "fish").stdout

    assert 'string split --max 1 "," $completion' in script
    assert 'string split "," ' not in script


def test_a_password_is_sealed_for_the_settings_and_keys_rotate(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "data")
    sealed = shell("secrets", "seal", stdin="p\u00e4ss\n".encode())
    rotated = shell.json("secrets", "rotate")

    assert sealed.stdout.startswith("sealed.v1.")
    assert Path(rotated["file"]).read_text("ascii").startswith(rotated["key_id"])
    assert shell("secrets", "seal", stdin=b"").exit_code == Exit.REFUSED


def test_a_command_takes_one_core_for_its_arithmetic() -> None:
    told = """
import os
from stateward import cli
cli.cli.main = lambda **_: print(os.environ[cli.BLAS_THREADS])
cli.main()
"""
    without = {name: value for name, value in os.environ.items() if name != BLAS_THREADS}

    seen = subprocess.run(
        [sys.executable, "-c", told], env=without, capture_output=True, check=True, text=True
    )

    assert seen.stdout == "1\n"


def test_who_may_read_an_exported_file_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.touch(mode=0o600)

    with replacing(file) as made:
        made.write_bytes(b"{}\n")
        assert made.stat().st_mode & 0o777 == 0o600, "nor is it open to others while it is written"

    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"{}\n", 0o600)


def test_an_exported_file_is_for_its_owner_alone_unless_it_was_there(tmp_path: Path) -> None:
    shared = tmp_path / "shared.jsonl"
    shared.touch()
    shared.chmod(0o644)
    before = os.umask(0)
    try:
        for file in (tmp_path / "new.jsonl", shared):
            with replacing(file) as made:
                made.write_bytes(b"{}\n")
    finally:
        os.umask(before)

    assert (tmp_path / "new.jsonl").stat().st_mode & 0o777 == 0o600
    assert shared.stat().st_mode & 0o777 == 0o644


def test_a_misspelt_variable_is_named_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEWARD_STORE_ULR", "postgresql://db.example/stateward")

    counted = shell("counts")

    assert counted.stderr.count("STATEWARD_STORE_ULR is not read; did you mean") == 1
    assert "STATEWARD_STORE_URL?" in counted.stderr

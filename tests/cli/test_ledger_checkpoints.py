"""`ledger checkpoint`, `key signing create` and `ledger keep`: what leaves the machine, and what happens at night."""

import time
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from stateward.ledger import Ledger, LedgerState
from tests.cli.shell import Shell
from tests.ledger.builders import Clock
from tests.ledger.receiver import receiving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger of yesterday with two lines."""
    with Ledger.open(tmp_path / "ledger", clock=Clock(time.time() - 86_400)) as ledger:
        for number in (1, 2):
            ledger.record(f"doc:{number}", LedgerState.PENDING)
    return tmp_path / "ledger"


def test_a_signed_checkpoint_is_handed_over_and_verified_with_the_public_half(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    key, shelf = tmp_path / "key", tmp_path / "shelf"
    shelf.mkdir()
    made = shell.json("key", "signing", "create", "example.org/l", "--out", str(key))

    with receiving() as receiver:
        done = shell.json(
            "ledger", "checkpoint", str(folder), "--sign-with", str(key), "--export-to", str(shelf),
            "--export-to", receiver.url,
        )  # fmt: skip
    (kept,) = shelf.iterdir()
    args = ("ledger", "verify", str(folder), "--checkpoint", str(kept), "--signed-by")
    good = shell(*args, made["public"])
    other = shell(
        *args,
        shell.json("keys", "signing", "create", "example.org/l", "--out", str(key) + "2")["public"],
    )

    assert key.stat().st_mode & 0o077 == 0
    assert key.read_text().startswith("PRIVATE+KEY+example.org/l+")
    assert receiver.bodies == [kept.read_text()] == [done["checkpoint"]]
    assert [each["error"] for each in done["exported"]] == ["", ""]
    assert good.exit_code == 0
    assert (other.exit_code, "no good signature of example.org/l" in other.stdout) == (1, True)


def test_a_signing_key_without_a_name_is_made_in_the_data_folder_and_used_at_once(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("Date;Amount\n2026-01-02;1,00\n")
    shell("submit", str(tmp_path / "a.csv"))
    public = shell.json("keys", "signing", "create")["public"]
    shell("verify", "--out", str(tmp_path / "checkpoint.txt"))

    args = ("verify", "--checkpoint", str(tmp_path / "checkpoint.txt"), "--signed-by")
    assert shell(*args, public).exit_code == 0
    assert shell("keys", "signing", "create").exit_code == Exit.REFUSED  # it is never replaced


def test_a_destination_that_does_not_confirm_is_told_and_gets_the_next_one(
    shell: Shell, folder: Path
) -> None:
    with receiving(500) as receiver:
        first = shell("ledger", "checkpoint", str(folder), "--export-to", receiver.url)
        shell("ledger", "append", str(folder), "doc:3", "pending")
        second = shell("ledger", "checkpoint", str(folder), "--export-to", receiver.url)

    assert (first.exit_code, second.exit_code) == (Exit.FOUND_PROBLEMS, Exit.OK)
    assert "has not got the checkpoint: it answered 500" in first.stderr
    assert f"{receiver.url} has it" in second.stderr
    assert [body.splitlines()[1] for body in receiver.bodies] == ["2", "3"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["checkpoint", "{}", "--export-to", "ftp://x/y"], Exit.REFUSED, "name a folder, or an http"),
        (["checkpoint", "{}", "--export-to", "{}/x"], Exit.REFUSED, "is inside the ledger"),
        (["checkpoint", "{}", "--origin", "two words"], Exit.REFUSED, "an origin is one word"),
        (["checkpoint", "{}", "--sign-with", "{}/HEAD"], Exit.REFUSED, "no key to sign with"),
        (["checkpoint", "{}", "--sign-with", "{}/none"], Exit.REFUSED, "No such file"),
        (["checkpoint", "{}", "--export-to", "http://x", "--webhook-secret", "{}/HEAD"], Exit.REFUSED, "whsec_"),
        (["compact", "{}/nowhere"], Exit.REFUSED, "is not a ledger"),
        (["verify", "{}", "--signed-by", "x"], Exit.USAGE, "--checkpoint"),
        (["verify", "{}", "--checkpoint", "{}/HEAD"], Exit.REFUSED, "this is no checkpoint"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(
    shell: Shell, folder: Path, args: list[str], code: Exit, words: str
) -> None:
    done = shell("ledger", *(arg.replace("{}", str(folder)) for arg in args))

    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr


def test_a_signing_key_never_replaces_a_file(shell: Shell, folder: Path) -> None:
    for name, out, words in (("x", "HEAD", "exists; name a new"), ("two words", "new", "one word")):
        done = shell("key", "signing", "create", name, "--out", str(folder / out))
        assert (done.exit_code, done.stdout) == (Exit.REFUSED, "")
        assert words in done.stderr


def test_an_exported_history_is_verified_and_read_as_a_file(demo: Shell, tmp_path: Path) -> None:
    demo("export", "history", "--out", str(tmp_path / "history"))
    path = tmp_path / "history" / "transitions.jsonl"

    sound = demo.json("ledger", "verify", str(path))
    states = demo.json("ledger", "state", str(path))
    path.write_bytes(path.read_bytes().replace(b"person:", b"parson:", 1))
    changed = demo("ledger", "verify", str(path))
    refused = demo("ledger", "state", str(path))

    assert (sound["is_sound"], sound["lines"]) == (True, demo.json("verify")["transitions"])
    assert states == {each["id"]: each["status"] for each in demo.json("list", "")}
    assert (changed.exit_code, "was changed after it was written" in changed.stdout) == (1, True)
    assert refused.exit_code == Exit.REFUSED

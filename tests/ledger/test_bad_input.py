"""Everything that people, disks and clocks do wrong to a ledger: a clear sentence each, and nothing half-written."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.cli.exit_codes import Exit
from stateward.core.errors import InvalidRequest
from stateward.ledger import (
    Ledger,
    LedgerError,
    LedgerLocked,
    LedgerMismatch,
    LedgerPoisoned,
    LedgerState,
    verify,
)
from stateward.ledger.disk import Disk
from stateward.ledger.record import METADATA_BYTES_MAX
from tests.cli.shell import Shell
from tests.ledger.builders import START, Clock, QuickDisk, a_ledger

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING
UNPRIVILEGED_ID = 65_534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with one line."""
    with a_ledger(tmp_path / "ledger") as ledger:
        ledger.record("doc:1", PENDING)
    return tmp_path / "ledger"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "data")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that other users can come to."""
    place = Path(tempfile.mkdtemp(prefix="ledger-", dir="/tmp"))
    place.chmod(0o755)
    yield place
    for path in (place, *place.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(place)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Of all that counts: who opened it and how much of it is durable may be written down anew."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("HEAD", "LOCK")
    }


def as_unprivileged(work: Callable[[], object]) -> str:
    """What happens to a process that is not root: the answer, or the error with its sentence."""
    if os.geteuid() != 0:
        return told(work)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - another process
        os.setresgid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        os.setresuid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        os.write(writer, told(work).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return text


def told(work: Callable[[], object]) -> str:
    try:
        return str(work())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test is about
        return f"{type(error).__name__}: {error}"


# Directories


def test_a_directory_that_is_not_a_ledger_is_left_as_it_is(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("dear")
    path = str(tmp_path / "letters")

    with pytest.raises(
        LedgerMismatch, match=r"is not a ledger and not empty \(it has 'letter.txt'\)"
    ):
        Ledger.open(path)
    asked = [shell("ledger", name, path) for name in ("stats", "state", "snapshots", "compact")]
    repaired = shell("ledger", "repair", path)
    verified = shell("verify", path)

    assert {each.exit_code for each in (*asked, repaired, verified)} == {Exit.REFUSED}
    assert all("is not a ledger" in each.stderr for each in (*asked, repaired))
    assert "is neither a ledger nor the data folder of a store" in verified.stderr
    assert [each.name for each in Path(path).iterdir()] == ["letter.txt"]


def test_a_ledger_of_a_newer_version_is_left_as_it_is(shell: Shell, folder: Path) -> None:
    path = folder / "MANIFEST.json"
    body = path.read_bytes().replace(b'"format": 2', b'"format": 4').rpartition(b',\n  "crc": "')[0]
    path.write_bytes(body + b',\n  "crc": "%08x"\n}\n' % zlib.crc32(body))
    before = bytes_of(folder)

    done = [
        shell("ledger", *args, str(folder), *rest)
        for args, rest in ((["append"], ["doc:2", "pending"]), (["stats"], []), (["repair"], ["--yes"]))
    ]  # fmt: skip

    assert {each.exit_code for each in done} == {Exit.REFUSED}
    assert all("another version of Stateward (format 4" in each.stderr for each in done)
    assert bytes_of(folder) == before


def test_without_permission_one_is_told_so_and_may_still_read(open_place: Path) -> None:
    folder = open_place / "ledger"
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", PENDING)
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    before = bytes_of(folder)

    def read() -> object:
        with Ledger.open(folder, read_only=True) as ledger:
            return ledger.state("doc:1")

    refused = as_unprivileged(lambda: Ledger.open(folder))
    answer = as_unprivileged(read)
    folder.chmod(0o000)
    closed = as_unprivileged(lambda: Ledger.open(folder, read_only=True))
    folder.chmod(0o755)

    assert refused == f"LedgerError: {folder} cannot be opened: Permission denied"
    assert answer == "pending"
    assert "Permission denied" in closed
    assert closed.startswith("LedgerError: ")
    assert bytes_of(folder) == before


class ReadOnlyDisk(Disk):
    """What the kernel says when a file system was mounted, or turned itself, read-only."""

    def _refuse(self, path: Path) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    create = open_append = open_log = open_slots = _refuse


def test_a_read_only_disk_can_be_read_and_says_why_it_cannot_be_written(folder: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened: Read-only file system"):
        Ledger.open(folder, disk=ReadOnlyDisk())
    with Ledger.open(folder, read_only=True) as ledger:
        assert ledger.state("doc:1") == PENDING


class FullDisk(QuickDisk):
    """Half of a write arrives, then there is no space."""

    is_full = False

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        if self.is_full:
            super().write_at(fd, data[: len(data) // 2], offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write_at(fd, data, offset)


def test_a_full_disk_stops_the_writer_and_costs_nothing_that_was_acknowledged(folder: Path) -> None:
    disk = FullDisk()
    with Ledger.open(folder, clock=Clock(), disk=disk) as ledger:
        ledger.record("doc:2", PENDING)
        disk.is_full = True
        with pytest.raises(
            LedgerPoisoned, match="No space left on device; nothing more is written"
        ):
            ledger.record("doc:3", PENDING)
        disk.is_full = False
        with pytest.raises(LedgerPoisoned, match="close it and open it again"):
            ledger.record("doc:4", PENDING)

    with a_ledger(folder) as ledger:
        assert [each.doc_id for each in ledger.documents()] == ["doc:1", "doc:2"]
        assert "of a torn line were cut off" in ledger.notes[0]
    assert verify(folder).is_sound


def test_a_command_on_a_full_disk_ends_with_seven(shell: Shell, folder: Path) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with patch.object(Disk, "write", no_space), patch.object(Disk, "write_at", no_space):
        done = shell("ledger", "append", str(folder), "doc:2", "pending")
        compacted = shell("ledger", "compact", str(folder))

    assert (done.exit_code, compacted.exit_code) == (Exit.DISK_FULL, Exit.DISK_FULL)
    assert "free space or repair the disk" in done.stderr
    assert "No space left on device" in compacted.stderr
    assert shell.json("ledger", "state", str(folder)) == {"doc:1": "pending"}


def test_a_lock_that_a_dead_process_left_has_no_owner(folder: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (folder / "LOCK").write_text(json.dumps({"pid": dead.pid, "host": "here", "started": START}))

    with a_ledger(folder) as ledger:
        ledger.record("doc:2", PENDING)

        assert ledger.notes == ()


def test_a_writer_that_was_killed_leaves_no_lock_behind(folder: Path) -> None:
    script = (
        "import os, sys\nfrom stateward.ledger import Ledger\nLedger.open(sys.argv[1])\nos._exit(9)"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(folder)], check=False)

    with a_ledger(folder) as ledger:
        ledger.record("doc:2", PENDING)

        assert killed.returncode == 9
        assert ledger.notes == ()
        assert ledger.state("doc:2") == PENDING


def test_who_holds_the_lock_is_said_even_if_the_file_is_rubbish(folder: Path) -> None:
    with a_ledger(folder):
        (folder / "LOCK").write_bytes(b"\xff\x00{")
        with pytest.raises(LedgerLocked, match="is being written by another process"):
            a_ledger(folder)


def test_a_clock_that_goes_back_moves_no_document_back(folder: Path) -> None:
    clock = Clock(START - 400 * 86_400)
    with a_ledger(folder, clock=clock) as ledger:
        record = ledger.record("doc:1", FETCHING)
        ledger.compact()
        ledger.record("doc:2", PENDING)

        assert (record.timestamp, record.duration_seconds) == (START, 0)
        assert ledger.verify().is_sound
    with a_ledger(folder) as ledger:
        assert ledger.counts() == {"fetching": 1, "pending": 1}


# Values, at the library and at the command line


@pytest.mark.parametrize(
    "doc_id",
    [
        '"quoted"',
        "two\nlines",
        "nul\x00nul",
        "\U0001f4c4\u202e",
        "back\\slash",
        "a" * 4096,
        "\U0001f4c4" * 1024,
    ],
    ids=["quotes", "newline", "nul", "emoji", "backslash", "long", "long emoji"],
)
def test_a_strange_id_is_an_id(shell: Shell, folder: Path, doc_id: str, tmp_path: Path) -> None:
    moves = tmp_path / "moves.jsonl"
    moves.write_text(json.dumps({"doc_id": doc_id, "state": "pending"}) + "\n")

    done = shell("ledger", "append", str(folder), "--from", str(moves))
    shell("ledger", "compact", str(folder))

    assert done.exit_code == 0
    assert shell.json("ledger", "state", str(folder)) == {"doc:1": "pending", doc_id: "pending"}
    if "\x00" not in doc_id:
        assert len(shell.json("ledger", "history", str(folder), doc_id)) == 1


@pytest.mark.parametrize(
    ("doc_id", "sentence"),
    [
        ("x" * 10_240, "a document id has at most 4096 bytes"),
        ("", "a document id must not be empty"),
        ("half \ud800", "a document id holds half a character (a lone surrogate)"),
    ],
    ids=["10 kB", "empty", "surrogate"],
)
def test_an_impossible_id_is_refused(
    shell: Shell, folder: Path, doc_id: str, sentence: str, tmp_path: Path
) -> None:
    before = bytes_of(folder)
    moves = tmp_path / "moves.jsonl"
    moves.write_text(json.dumps({"doc_id": doc_id, "state": "pending"}) + "\n")

    done = shell("ledger", "append", str(folder), "--from", str(moves))

    assert done.exit_code == Exit.REFUSED
    assert f"moves.jsonl, line 1: {sentence}" in done.stderr
    assert bytes_of(folder) == before


TEN_MB = '{"doc_id":"doc:2","state":"pending","metadata":{"text":"%s"}}' % ("y" * 10_000_000)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (TEN_MB, "metadata has at most 1048576 bytes as JSON, not 10000011; keep the rest elsewhere"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":NaN}}', "metadata holds nan, which JSON cannot"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":-Infinity}}', "metadata holds -inf, which JSON cannot"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":1e999}}', "metadata holds inf, which JSON cannot"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":"\\ud800"}}', "metadata holds half a character"),
        ('{"doc_id":"doc:2","doc_id":"doc:3","state":"pending"}', "the key 'doc_id' stands twice"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":1,"x":2}}', "the key 'x' stands twice"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":%s}}' % ("9" * 30), "more than 64 bits"),
        ('{"doc_id":"doc:2","state":"pending","metadata":{"x":%s}}' % ("9" * 5000), "a number in it is too large"),
        ('{"doc_id":"doc:2","state":"pending","metadata":' + '{"x":' * 60 + "1" + "}" * 61, "nested deeper than 50"),
        ("[" * 100_000, "nested too deeply"),
        ('{"doc_id":"doc:2","state":"pending","metadata":[1]}', "Expected `object`, got `array`"),
        ('{"doc_id":7,"state":"pending"}', "Expected `str`, got `int`"),
        ('{"doc_id":"doc:2"}', "required field `state`"),
        ('["doc:2","pending"]', "this is no JSON object"),
        ('{"doc_id":"doc:2",', "this is not JSON: Expecting property name"),
    ],
    ids=range(16),
)  # fmt: skip
def test_a_line_that_cannot_be_right_is_named_and_nothing_of_it_is_written(
    shell: Shell, folder: Path, tmp_path: Path, line: str, sentence: str
) -> None:
    before = bytes_of(folder)
    moves = tmp_path / "moves.jsonl"
    moves.write_text(f"{line}\n")

    done = shell("ledger", "append", str(folder), "--from", str(moves))

    assert done.exit_code == Exit.REFUSED
    assert sentence in done.stderr
    assert "moves.jsonl, line 1:" in done.stderr
    assert "appended before it: 0 records" in done.stderr
    assert bytes_of(folder) == before


def test_bytes_that_are_no_text_are_named(shell: Shell, folder: Path, tmp_path: Path) -> None:
    moves = tmp_path / "moves.jsonl"
    moves.write_bytes(b'{"doc_id":"doc:2","state":"pending"}\n{"doc_id":"doc:\xff"}\n')

    done = shell("ledger", "append", str(folder), "--from", str(moves))

    assert done.exit_code == Exit.REFUSED
    assert "line 2: byte 15 is no UTF-8; appended before it: 1 record" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["query", "{}", "SELECT '\udcff'"],
        ["checkpoint", "{}", "--origin", "\udcff"],
        ["rollback", "{}", "1", "--reason", "\udcff", "--yes"],
    ],
    ids=lambda each: each[0],
)
def test_an_argument_that_is_no_text_is_refused(
    shell: Shell, folder: Path, words: list[str]
) -> None:
    shell("ledger", "compact", str(folder))
    before = bytes_of(folder)

    done = shell("ledger", *(each.format(folder) for each in words))

    assert done.exit_code == Exit.REFUSED
    assert bytes_of(folder) == before


def test_the_limit_of_metadata_is_a_setting(tmp_path: Path) -> None:
    big: dict[str, object] = {"text": "y" * 2 * METADATA_BYTES_MAX}
    with Ledger.open(
        tmp_path / "l", metadata_bytes_max=3 * METADATA_BYTES_MAX, disk=QuickDisk()
    ) as ledger:
        ledger.record("doc:1", PENDING, metadata=big)  # type: ignore[arg-type]
        ledger.compact()
    with a_ledger(tmp_path / "l") as ledger:
        found = ledger.document("doc:1")
        assert found is not None
        assert found.metadata == big
        with pytest.raises(InvalidRequest, match="keep the rest elsewhere"):
            ledger.record("doc:1", FETCHING, metadata=big)  # type: ignore[arg-type]

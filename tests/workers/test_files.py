"""Derived files as runners save them, and what a worker takes from a child that may be hostile."""

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from stateward.core.errors import (
    ArtifactsUnreachable,
    FatalFailure,
    StoreFull,
    TransientFailure,
)
from stateward.core.files import DerivedFile
from stateward.workers import job_files
from stateward.workers.child_attempt import AttemptFiles
from stateward.workers.job_files import empty_folder
from stateward.workers.results import Died
from stateward.workers.sandbox import ChildJob
from stateward.workers.sdk import Completed, Failed, Job, Result
from tests.workers.children import ChildSlot, an_order, only_item, wait_for
from tests.workers.jobs import completed, failed


def test_a_saved_file_has_the_reference_of_its_bytes_and_can_be_read_back() -> None:
    job = Job.for_test()

    reference = job.save_file("a.png", b"bytes", media_type="image/png")

    assert reference == f"sha256:{sha256(b'bytes').hexdigest()}"
    assert job.file(job.stage, "a.png").read_bytes() == b"bytes"
    assert [each.name for each in job.saved_files] == ["a.png"]


def test_a_file_on_the_disk_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "whatever"
    source.write_bytes(b"bytes")
    job = Job.for_test()

    job.save_file("a.png", source, media_type="image/png")
    source.write_bytes(b"others")

    assert job.file(job.stage, "a.png").read_bytes() == b"bytes"


def test_a_test_gives_files_of_earlier_stages() -> None:
    job = Job.for_test(files={"resize/a.png": b"bytes"})

    assert job.file("resize", "a.png").read_bytes() == b"bytes"
    with pytest.raises(FatalFailure, match=r"TEST_1 has no file resize/b\.png") as refused:
        job.file("resize", "b.png")
    assert refused.value.code == "NO_FILE"


def test_a_folder_that_nothing_changed_is_not_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []

    def empty(folder: Path, *, spared: str = "") -> None:
        looks.append(folder)
        empty_folder(folder, spared=spared)

    monkeypatch.setattr(job_files, "empty_folder", empty)
    monkeypatch.setattr(job_files, "TICK_S", -1.0)  # as if its last change were long ago
    sweeper = job_files.Sweeper()
    for _ in range(3):
        sweeper.empty(tmp_path)
    assert len(looks) == 1

    (tmp_path / "left").mkdir()
    os.utime(tmp_path, (0, 0))  # a runner cannot hide it
    sweeper.empty(tmp_path)
    assert not [*tmp_path.iterdir()]

    (tmp_path / "spared").touch()
    for _ in range(2):  # what is spared once is not spared for ever
        sweeper.empty(tmp_path, spared="spared")
    sweeper.empty(tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_has_just_changed_is_looked_into(tmp_path: Path) -> None:
    """What is made within a tick of the clock of the file system does not change the time."""
    sweeper = job_files.Sweeper()
    sweeper.empty(tmp_path)
    assert not sweeper._empty_since


HOSTILE_NAMES = [
    "", ".", "..", ".hidden", "../a", "a/b", "a\\b", "/etc/passwd", "C:a", "a b", "a\n", "a\x00", "ä.png", "-rf",
    "a;b", 'a"b', "a%2fb", "x" * 201,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_refused_when_it_is_saved_and_not_found(name: str) -> None:
    job = Job.for_test(files={"resize/a.png": b"bytes"})

    with pytest.raises(FatalFailure, match="cannot be the name of a file") as refused:
        job.save_file(name, b"", media_type="image/png")
    assert refused.value.code == "BAD_FILE"
    with pytest.raises(FatalFailure, match="has no file"):
        job.file("resize", name)


@pytest.mark.parametrize("name", ["a", "_a", "9.png", "a-b_c.D.tar.gz", "x" * 200, "a..b"])
def test_a_plain_name_is_taken(name: str) -> None:
    Job.for_test().save_file(name, b"", media_type="image/png")


@pytest.mark.parametrize(
    "media_type",
    [
        "",
        "png",
        "image/",
        "/png",
        "Image/PNG",
        "image/png; x=1",
        "image/png\r\nX: 1",
        "a/" + "x" * 99,
    ],
)
def test_what_is_no_media_type_is_refused(media_type: str) -> None:
    with pytest.raises(FatalFailure, match="is no media type"):
        Job.for_test().save_file("a", b"", media_type=media_type)


def test_a_name_can_be_saved_once_by_an_attempt() -> None:
    def twice(job: Job) -> None:
        job.save_file("a", b"1", media_type="text/plain")
        job.save_file("a", b"2", media_type="text/plain")

    assert failed(twice).code == "BAD_FILE"


def test_number_and_bytes_of_files_are_bounded() -> None:
    def three(job: Job) -> None:
        for number in range(3):
            job.save_file(f"{number}", b"12345", media_type="text/plain")

    assert len(completed(three, files_max=3, files_bytes_max=15).files) == 3
    assert failed(three, files_max=2).code == "TOO_MANY_FILES"
    assert failed(three, files_bytes_max=14).code == "FILES_TOO_LARGE"


def test_a_try_that_is_repeated_leaves_no_file_behind() -> None:
    tries = []

    def second(job: Job) -> None:
        tries.append(1)
        job.save_file("a", b"%d" % len(tries), media_type="text/plain")
        if len(tries) == 1:
            job.save_file("b", b"", media_type="text/plain")
            raise TransientFailure("again")

    assert completed(second).files == (
        DerivedFile(name="a", media_type="text/plain", size=1, sha256=sha256(b"2").hexdigest()),
    )


# What a worker takes from a child


class Taken(AttemptFiles):
    """Blob storage in memory."""

    def __init__(self, found: Path | None = None) -> None:
        self.announced: list[str] = []
        self.stored: list[bytes] = []
        self._found = found

    def announce(self, digests: Sequence[str]) -> None:
        self.announced += digests

    def put(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> int | None:
        data = b"".join(pieces)
        assert digest in self.announced
        if sha256(data).hexdigest() != digest:
            return None
        self.stored.append(data)
        return len(data)

    def find(self, stage: str, name: str) -> Path | None:
        return self._found


def run(slot: ChildSlot, runner: str, files: AttemptFiles | None) -> Result:
    child = slot.idle_child()
    child.start(an_order(runner), files=files)
    return wait_for(child)


def test_a_worker_takes_the_files_of_a_child_and_the_next_job_finds_none(slot: ChildSlot) -> None:
    taken = Taken()

    first = run(slot, "good.save_files", taken)
    second = run(slot, "good.save_files", taken)

    assert isinstance(first, Completed), first
    assert [each.name for each in first.files] == ["a.txt", "b.txt"]
    assert isinstance(second, Completed), second
    assert only_item(second) == {"found": []}
    assert taken.stored == [b"first", b"second"] * 2
    assert len(slot.spawned) == 1


def test_a_child_reads_a_file_that_its_worker_finds(slot: ChildSlot, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"bytes")

    there = run(slot, "good.read_file", Taken(tmp_path / "blob"))
    missing = run(slot, "good.read_file", Taken())

    assert isinstance(there, Completed), there
    assert only_item(there) == {"text": "bytes"}
    assert isinstance(missing, Failed)
    assert (missing.code, missing.is_retryable) == ("NO_FILE", False)


@pytest.mark.parametrize(
    "runner",
    [
        "bad.file_is_a_link", "bad.file_is_a_pipe", "bad.file_changed", "bad.file_grew", "bad.file_gone",
        "bad.file_folder_is_a_link", "bad.file_name",
    ],
)  # fmt: skip
def test_a_child_that_cheats_with_a_file_is_killed(slot: ChildSlot, runner: str) -> None:
    taken = Taken()

    result = run(slot, runner, taken)

    assert isinstance(result, Failed), result
    assert result.code == "RUNNER_BROKE_PROTOCOL"
    assert b"root" not in b"".join(taken.stored)
    slot.works()


def test_files_that_cannot_be_stored_fail_the_attempt_which_may_be_tried_again(
    slot: ChildSlot,
) -> None:
    class Full(Taken):
        def put(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> int | None:
            raise StoreFull("the disk is full")

    result = run(slot, "good.save_files", Full())

    assert isinstance(result, Failed)
    assert (result.code, result.is_retryable) == ("FILES_NOT_STORED", True)
    slot.works()


def test_object_storage_that_is_away_is_no_failure_of_the_document(slot: ChildSlot) -> None:
    class Away(Taken):
        def put(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> int | None:
            raise ArtifactsUnreachable("it does not answer")

    result = run(slot, "good.save_files", Away())

    assert isinstance(result, Died)
    assert not result.has_begun


def test_the_files_of_a_job_are_taken_before_the_next_of_its_batch_begins(slot: ChildSlot) -> None:
    child = slot.idle_child()
    taken = Taken()

    child.start_all([ChildJob(an_order("good.save_files"), None, taken) for _ in range(3)])

    assert isinstance(wait_for(child), Completed)
    assert taken.stored == [b"first", b"second"]
    assert child.pending == 0  # the others were given back
    slot.works()

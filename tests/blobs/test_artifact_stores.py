"""What every store of artifacts does: a folder and object storage pass the same tests."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from stateward.blobs import ArtifactStore, CopyFolder, Folder, TooLarge
from stateward.core.errors import ArtifactChanged, ArtifactError, InvalidRequest
from tests.blobs.stores import PART_BYTES, changed, opened

SMALL = b"a document"
LARGE = bytes(range(256)) * 20  # several parts of an upload
KINDS = ("folder", "objects")
ABSENT = sha256(b"never stored").hexdigest()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(kind: str, tmp_path: Path) -> Iterator[ArtifactStore]:
    with opened(kind, tmp_path) as own:
        yield own


def pieces(data: bytes, size: int = 700) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("data", [SMALL, LARGE, LARGE[:PART_BYTES], b""], ids=len)
def test_bytes_are_stored_once_under_their_hash(store: ArtifactStore, data: bytes) -> None:
    digest = sha256(data).hexdigest()

    first = store.put(pieces(data), bytes_max=len(data))
    again = store.put(pieces(data), bytes_max=len(data))

    assert (first.sha256, first.size, first.is_new) == (digest, len(data), True)
    assert (again.sha256, again.size, again.is_new) == (digest, len(data), False)
    assert list(store.digests()) == [digest]
    assert store.path(digest).read_bytes() == data
    assert store.checked_path(digest).read_bytes() == data
    assert b"".join(store.pieces(digest)) == data
    assert store.holds(digest)
    assert store.verify(digest)


def test_more_bytes_than_allowed_leave_nothing_behind(store: ArtifactStore) -> None:
    with pytest.raises(TooLarge, match="more than 4 bytes"):
        store.put([b"abc", b"de"], bytes_max=4)

    assert list(store.digests()) == []


def test_bytes_with_another_hash_than_said_are_not_stored(store: ArtifactStore) -> None:
    assert store.put_as(ABSENT, [SMALL], bytes_max=100) is None
    assert list(store.digests()) == []

    kept = store.put_as(sha256(SMALL).hexdigest(), [SMALL], bytes_max=100)
    assert kept is not None
    assert kept.is_new


def test_what_is_received_can_be_looked_at_before_it_is_stored(store: ArtifactStore) -> None:
    with store.receive(bytes_max=100) as incoming:
        incoming.write(SMALL)
        assert incoming.path.read_bytes() == SMALL
        assert list(store.digests()) == []
        left = incoming.path

    assert not left.exists()
    assert list(store.digests()) == []


def test_an_artifact_that_is_not_there_is_an_error_that_names_it(store: ArtifactStore) -> None:
    assert not store.holds(ABSENT)
    for ask in (
        store.path,
        store.checked_path,
        store.verify,
        lambda each: list(store.pieces(each)),
    ):
        with pytest.raises(ArtifactError, match=f"no artifact {ABSENT}"):
            ask(ABSENT)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "A" * 64, "0" * 63])
def test_only_a_hash_is_a_name(store: ArtifactStore, name: str) -> None:
    for ask in (store.path, store.holds, store.verify):
        with pytest.raises(InvalidRequest, match="not a SHA-256"):
            ask(name)


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "in-parts"])
def test_changed_bytes_are_never_given(store: ArtifactStore, kind: str, data: bytes) -> None:
    digest = store.put([data], bytes_max=len(data)).sha256
    changed(kind, store, digest, data[:-1] + b"!")

    assert not store.verify(digest)
    with pytest.raises(ArtifactChanged, match="another SHA-256"):
        store.checked_path(digest)


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "in-parts"])
def test_the_same_bytes_at_the_same_time_make_one_artifact(
    store: ArtifactStore, data: bytes
) -> None:
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(lambda _: store.put([data], bytes_max=len(data)), range(8)))

    assert {each.sha256 for each in kept} == {sha256(data).hexdigest()}
    assert list(store.digests()) == [sha256(data).hexdigest()]
    assert store.checked_path(kept[0].sha256).read_bytes() == data


def test_announcements_stay_until_they_are_forgotten_and_are_no_artifacts(
    store: ArtifactStore,
) -> None:
    assert store.announced(limit=10) == []
    two = [sha256(each).hexdigest() for each in (b"1", b"2")]
    store.announce("UL_1", two)
    store.announce("../odd/\u00fc", [ABSENT])
    store.announce("UL_1", two[:1])

    found = store.announced(limit=10)

    assert sorted(found) == sorted([("UL_1", two[0]), ("UL_1", two[1]), ("../odd/\u00fc", ABSENT)])
    assert len(store.announced(limit=2)) == 2
    assert list(store.digests()) == []
    store.forget_announced(found)
    assert store.announced(limit=10) == []
    with pytest.raises(InvalidRequest):
        store.announce("UL_1", ["../../x"])


def test_copies_that_none_used_for_a_while_are_swept(tmp_path: Path) -> None:
    folder = CopyFolder(tmp_path / "copies", beside=Folder(tmp_path / "documents"))
    old, used, new = (sha256(each).hexdigest() for each in (b"old", b"used", b"new"))
    for digest, data in ((old, b"old"), (used, b"used"), (new, b"new")):
        assert folder.put_copy(digest, data)
    for digest in (old, used):
        os.utime(folder.place(digest), (0, 0))
    folder.put_copy(used, b"used")

    assert folder.sweep(older_than=time.time() - 60) == 1
    assert [folder.has_copy(each) for each in (old, used, new)] == [False, True, True]


def test_what_has_no_copy_is_hashed_where_others_store_it(tmp_path: Path) -> None:
    beside = Folder(tmp_path / "documents")
    folder = CopyFolder(tmp_path / "copies", beside=beside)
    digest = beside.put([SMALL], bytes_max=len(SMALL)).sha256

    assert folder.checked_path(digest) == beside.path(digest)

    folder.put_copy(digest, SMALL)
    assert folder.checked_path(digest) == tmp_path / "copies" / digest[:2] / digest


def test_a_copy_that_is_removed_while_it_is_stored_again_is_there_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CopyFolder(tmp_path / "copies", beside=Folder(tmp_path / "documents"))
    digest, link = sha256(b"copy").hexdigest(), os.link
    folder.put_copy(digest, b"copy")

    def sweep_after(source: Path, place: Path) -> None:
        """A link as the system makes it, after which another process removes the copy; once."""
        monkeypatch.undo()
        try:
            link(source, place)
        finally:
            folder.place(digest).unlink()

    monkeypatch.setattr(os, "link", sweep_after)
    assert folder.put_copy(digest, b"copy")

    assert folder.path(digest).read_bytes() == b"copy"


def test_what_a_crash_left_is_swept_by_its_age(store: ArtifactStore) -> None:
    left = store.receive(bytes_max=10)
    fresh = store.receive(bytes_max=10)
    os.utime(left.path, (0, 0))

    assert store.sweep(older_than=time.time() - 60) == 1
    assert not left.path.exists()
    assert fresh.path.exists()
    left.drop()
    fresh.drop()

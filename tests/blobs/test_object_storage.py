"""Documents in object storage: what is sent and read, faults on the way, copies on this machine, and what is said."""

import os
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch
from urllib.request import urlopen

import pytest

from lab.s3 import ENVIRONMENT, FaultKind, S3Fault, S3Server
from stateward.blobs.objects import CACHE_REST_S, ObjectOptions, ObjectStorage
from stateward.core.errors import ArtifactChanged, ArtifactError, ArtifactsUnreachable
from tests.blobs.stores import BUCKET, PART_BYTES, objects

SMALL = b"a document"
LARGE = bytes(range(256)) * 20
DIGEST = sha256(SMALL).hexdigest()
MANY = 1000


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with S3Server(BUCKET) as server, patch.dict(os.environ, ENVIRONMENT):
        yield server


def methods(s3: S3Server) -> list[str]:
    return [method for method, _ in s3.requests]


def test_a_small_document_is_one_conditional_request_each_way(s3: S3Server, tmp_path: Path) -> None:
    objects(s3, tmp_path / "here").put([SMALL], bytes_max=100)
    objects(s3, tmp_path / "there").checked_path(DIGEST)

    assert methods(s3) == ["PUT", "GET"]
    assert s3.objects[BUCKET] == {f"of/us/{DIGEST[:2]}/{DIGEST}": SMALL}


def test_an_existing_object_stays(s3: S3Server, tmp_path: Path) -> None:
    key = f"of/us/{DIGEST[:2]}/{DIGEST}"
    s3.objects[BUCKET][key] = b"what was there"

    kept = objects(s3, tmp_path).put([SMALL], bytes_max=100)

    assert not kept.is_new
    assert s3.objects[BUCKET][key] == b"what was there"


def test_a_large_document_is_sent_in_parts_and_never_listed(s3: S3Server, tmp_path: Path) -> None:
    store = objects(s3, tmp_path)

    kept = store.put([LARGE], bytes_max=len(LARGE))
    again = store.put([LARGE], bytes_max=len(LARGE))

    sent = -(-len(LARGE) // PART_BYTES)
    assert methods(s3) == ["HEAD", "POST", *["PUT"] * sent, "POST", "HEAD"]
    assert (kept.is_new, again.is_new) == (True, False)
    assert not s3.uploads


def test_what_was_stored_here_is_read_without_a_request(s3: S3Server, tmp_path: Path) -> None:
    store = objects(s3, tmp_path)
    store.put([SMALL], bytes_max=100)
    s3.requests.clear()

    assert store.checked_path(DIGEST).read_bytes() == SMALL
    assert not s3.requests


def test_a_copy_that_was_damaged_on_this_machine_is_fetched_anew(
    s3: S3Server, tmp_path: Path
) -> None:
    store = objects(s3, tmp_path)
    store.put([SMALL], bytes_max=100)
    copy = store.path(DIGEST)
    copy.chmod(0o640)
    copy.write_bytes(b"rotten")

    assert store.checked_path(DIGEST).read_bytes() == SMALL


def test_an_object_that_must_not_be_deleted_is_no_bucket_that_cannot_be_used(
    s3: S3Server, tmp_path: Path
) -> None:
    store = objects(s3, tmp_path)
    store.put([SMALL], bytes_max=100)
    s3.faults = [S3Fault(kind="deny", method="POST")]

    with pytest.raises(ArtifactError, match=f"does not allow to delete {DIGEST}"):
        store.remove(DIGEST)
    assert store.remove(DIGEST)


def test_a_changed_object_leaves_no_copy(s3: S3Server, tmp_path: Path) -> None:
    s3.objects[BUCKET][f"of/us/{DIGEST[:2]}/{DIGEST}"] = b"not it"
    store = objects(s3, tmp_path)

    with pytest.raises(ArtifactChanged):
        store.path(DIGEST)
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]


@pytest.mark.parametrize("kind", ["fail", "cut", "drop"])
@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "in-parts"])
def test_a_fault_that_passes_is_not_noticed(
    s3: S3Server, tmp_path: Path, kind: FaultKind, data: bytes
) -> None:
    s3.faults = [S3Fault(kind=kind, method="PUT"), S3Fault(kind=kind, method="GET")]

    kept = objects(s3, tmp_path / "here").put([data], bytes_max=len(data))
    found = objects(s3, tmp_path / "there").checked_path(kept.sha256)

    assert found.read_bytes() == data
    assert not [fault for fault in s3.faults if fault.times]


@pytest.mark.parametrize("kind", ["fail", "drop"])
@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "in-parts"])
def test_a_document_that_cannot_be_sent_is_refused_and_can_be_sent_again(
    s3: S3Server, tmp_path: Path, kind: FaultKind, data: bytes
) -> None:
    store = objects(s3, tmp_path, timeout_s=0.3)
    s3.faults = [S3Fault(kind=kind, method="PUT", after=len(data) // PART_BYTES // 2, times=MANY)]

    with pytest.raises(ArtifactsUnreachable, match="cannot be reached, or fails"):
        store.put([data], bytes_max=len(data))

    assert not s3.objects[BUCKET]
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
    s3.faults = []
    assert store.put([data], bytes_max=len(data)).is_new


@pytest.mark.parametrize("kind", ["fail", "cut", "drop", "slow"])
def test_a_document_that_cannot_be_read_now_is_not_called_missing(
    s3: S3Server, tmp_path: Path, kind: FaultKind
) -> None:
    objects(s3, tmp_path / "here").put([LARGE], bytes_max=len(LARGE))
    store = objects(s3, tmp_path / "there", timeout_s=0.2)
    s3.faults = [S3Fault(kind=kind, after=2, times=MANY, seconds=0.3)]

    with pytest.raises(ArtifactsUnreachable, match="cannot be reached, or fails"):
        store.checked_path(sha256(LARGE).hexdigest())

    assert not [each for each in (tmp_path / "there").rglob("*") if each.is_file()]


def test_a_bucket_that_is_not_there_is_named(s3: S3Server, tmp_path: Path) -> None:
    own = ObjectOptions(url="s3://elsewhere/x", endpoint=s3.endpoint)

    asks: list[Callable[[ObjectStorage], object]] = [
        lambda store: store.put([SMALL], bytes_max=100),
        lambda store: store.path(DIGEST),
        lambda store: store.check(b"1"),
    ]
    for ask in asks:
        with pytest.raises(ArtifactsUnreachable, match=r"s3://elsewhere/x .* no such bucket"):
            ask(ObjectStorage(own, tmp_path))


def test_refused_credentials_are_said_and_never_shown(s3: S3Server, tmp_path: Path) -> None:
    wrong = {"AWS_ACCESS_KEY_ID": "wrong", "AWS_SECRET_ACCESS_KEY": "not-to-be-shown"}

    with (
        patch.dict(os.environ, wrong),
        pytest.raises(ArtifactsUnreachable, match="refuses the credentials") as caught,
    ):
        objects(s3, tmp_path).path(DIGEST)

    assert "not-to-be-shown" not in str(caught.value)


def test_a_server_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    own = ObjectOptions(url="s3://documents", endpoint="http://127.0.0.1:1", timeout_s=1.0)

    with (
        patch.dict(os.environ, ENVIRONMENT),
        pytest.raises(ArtifactsUnreachable, match="cannot be reached"),
    ):
        ObjectStorage(own, tmp_path).put([SMALL], bytes_max=100)


def test_a_link_is_given_where_it_is_wanted(s3: S3Server, tmp_path: Path) -> None:
    store = objects(s3, tmp_path, link_s=60.0)
    store.put([SMALL], bytes_max=100)

    link = store.link(DIGEST)

    assert objects(s3, tmp_path).link(DIGEST) is None
    assert link is not None
    with urlopen(link) as answer:  # noqa: S310 - of the server above
        assert answer.read() == SMALL


def test_copies_beyond_the_limit_are_removed_those_used_longest_ago_first(
    s3: S3Server, tmp_path: Path
) -> None:
    store = objects(s3, tmp_path, cache_bytes_max=250)
    kept = [store.put([str(number).encode() * 100], bytes_max=100) for number in range(4)]
    for age, each in enumerate(reversed(kept)):
        os.utime(store.path(each.sha256), (0, 1e9 - age * CACHE_REST_S))

    store.sweep(older_than=0.0)

    left = {each.name for each in tmp_path.rglob("*") if each.is_file()}
    assert left == {each.sha256 for each in kept[2:]}
    assert store.checked_path(kept[0].sha256).read_bytes() == b"0" * 100


def test_copies_are_removed_a_while_after_their_last_use_for_they_may_be_erased_elsewhere(
    s3: S3Server, tmp_path: Path
) -> None:
    here, there = (objects(s3, tmp_path / each) for each in ("here", "there"))
    old, new = (here.put([each], bytes_max=100).sha256 for each in (b"old", b"new"))
    for digest in (old, new):
        there.path(digest)
    here.remove(old)
    os.utime(there.path(old), (0, 0))

    there.sweep(older_than=time.time() - 60)

    assert [there.has_copy(each) for each in (old, new)] == [False, True]


def test_copies_that_were_just_used_stay_whatever_the_limit_is(
    s3: S3Server, tmp_path: Path
) -> None:
    store = objects(s3, tmp_path, cache_bytes_max=16)
    kept = [store.put([str(number).encode() * 100], bytes_max=100) for number in range(4)]

    assert all(store._cache.place(each.sha256).is_file() for each in kept)


def test_the_check_writes_and_reads(s3: S3Server, tmp_path: Path) -> None:
    assert objects(s3, tmp_path).check(b"now") >= 0.0
    assert list(s3.objects[BUCKET]) == ["of/us/doctor"]
    assert list(objects(s3, tmp_path).digests()) == []


def test_a_missing_object_is_no_outage(s3: S3Server, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="never stored there, or was removed"):
        objects(s3, tmp_path).path(DIGEST)

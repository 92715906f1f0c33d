"""Documents in object storage behind the proxy of the chaos rounds: cut in the middle, answered with 500, slow."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest

from lab.chaos.proxy import LOOPBACK, WELL, Behaviour, Link, Switchboard
from lab.s3 import ENVIRONMENT, S3Server
from stateward.blobs.objects import ObjectOptions, ObjectStorage
from stateward.core.errors import ArtifactsUnreachable
from tests.blobs.stores import BUCKET

DOCUMENT = os.urandom(1 << 20) * 9  # two parts
SHORT_S, LONG_S = 0.5, 60.0  # of a request
FAULTS = {
    "cut-in-the-middle": Behaviour(tear_odds=1.0),
    "500": Behaviour(is_failing=True),
    "slow": Behaviour(latency_s=(2 * SHORT_S, 2 * SHORT_S)),
}


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with S3Server(BUCKET) as server, patch.dict(os.environ, ENVIRONMENT):
        yield server


@pytest.fixture
def link(s3: S3Server) -> Iterator[Link]:
    with Switchboard(urlsplit(s3.endpoint).port or 0, rng=Random(1)) as board:
        yield board.link()


def storage(link: Link, folder: Path, timeout_s: float) -> ObjectStorage:
    options = ObjectOptions(
        url=f"s3://{BUCKET}/of/us", endpoint=f"http://{LOOPBACK}:{link.port}", timeout_s=timeout_s
    )
    return ObjectStorage(options, folder)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_sent_or_read_now_is_sent_and_read_whole_later(
    link: Link, tmp_path: Path, fault: Behaviour
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    digest = sha256(DOCUMENT).hexdigest()

    link.behave(fault)
    with pytest.raises(ArtifactsUnreachable):
        storage(link, here, SHORT_S).put([DOCUMENT], bytes_max=len(DOCUMENT))
    link.behave(WELL)
    assert storage(link, here, LONG_S).put([DOCUMENT], bytes_max=len(DOCUMENT)).sha256 == digest

    link.behave(fault)
    with pytest.raises(ArtifactsUnreachable):
        storage(link, there, SHORT_S).checked_path(digest)
    assert not [each for each in there.rglob("*") if each.is_file()]
    link.behave(WELL)
    assert storage(link, there, LONG_S).checked_path(digest).read_bytes() == DOCUMENT

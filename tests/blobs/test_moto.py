"""The shared suite's core against a server that others wrote: moto's, or the one that TEST_S3_ENDPOINT names."""

import json
import logging
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from unittest.mock import patch

import pytest

from lab.s3 import ENVIRONMENT
from stateward.blobs.objects import ObjectOptions, ObjectStorage
from stateward.core.errors import ArtifactChanged, ArtifactError, ArtifactsUnreachable

SMALL = b"a document"
PAGE = Path(__file__).parents[2] / "docs/how-to/scale-out.md"
LARGE = os.urandom(1 << 20) * 12  # two parts of the size that S3 asks for


@pytest.fixture
def endpoint() -> Iterator[str]:
    if named := os.environ.get("TEST_S3_ENDPOINT"):
        yield named
        return
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with patch.dict(os.environ, ENVIRONMENT):
        yield f"http://{host}:{port}"
    server.stop()


def made_bucket(endpoint: str) -> str:
    import boto3  # type: ignore[import-untyped]

    name = f"stateward-{token_hex(6)}"
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=name)
    return name


@pytest.mark.long
def test_a_foreign_server_gives_what_the_suite_asks(endpoint: str, tmp_path: Path) -> None:
    url = f"s3://{made_bucket(endpoint)}/of/us"
    here, there = (
        ObjectStorage(ObjectOptions(url=url, endpoint=endpoint, link_s=60), tmp_path / name)
        for name in ("here", "there")
    )

    for data in (SMALL, LARGE, b""):
        digest = sha256(data).hexdigest()
        assert here.put([data], bytes_max=len(data)).is_new
        assert not here.put([data], bytes_max=len(data)).is_new
        assert there.checked_path(digest).read_bytes() == data
        assert there.verify(digest)
        assert there.holds(digest)
    assert len(list(there.digests())) == 3
    assert there.check(b"1") > 0
    import obstore

    digest = sha256(SMALL).hexdigest()
    obstore.put(here._store, f"{digest[:2]}/{digest}", b"other")
    assert not here.verify(digest)
    with pytest.raises(ArtifactChanged):
        ObjectStorage(ObjectOptions(url=url, endpoint=endpoint), tmp_path / "new").path(digest)
    with pytest.raises(ArtifactError, match="no artifact"):
        here.path(sha256(b"absent").hexdigest())
    with pytest.raises(ArtifactsUnreachable, match="no such bucket"):
        ObjectStorage(ObjectOptions(url="s3://none-such", endpoint=endpoint), tmp_path).check(b"1")


@pytest.mark.long
def test_a_server_takes_the_rule_against_unfinished_uploads_and_it_expires_no_object(
    endpoint: str,
) -> None:
    import boto3

    (text,) = re.findall(r'```json\n(\{"Rules".*?)```', PAGE.read_text(), re.DOTALL)
    name, client = made_bucket(endpoint), boto3.client("s3", endpoint_url=endpoint)

    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration=json.loads(text))

    (rule,) = client.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
    assert rule["Status"] == "Enabled"
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 2}
    assert "Expiration" not in rule

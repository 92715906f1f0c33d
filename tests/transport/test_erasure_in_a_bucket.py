"""What workers without a database write into a bucket goes with its record, also if no result ever names it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from lab.s3 import ENVIRONMENT, S3Server
from stateward.app.process import remote_end
from stateward.core.failpoints import Point
from stateward.engine.erasure import SETTLED_WITHIN
from stateward.workers.attempt_data import StageFiles
from tests.transport.brokers import server_of
from tests.transport.scene import Scene

DERIVING = Path(__file__).parent / "deriving.py"
BUCKET = "documents"
NAME = b"Wilhelmine Muster"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server_of("redis") as own:
        yield own


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with S3Server(BUCKET) as server, patch.dict(os.environ, ENVIRONMENT):
        yield server


@pytest.fixture
def scene(url: str, s3: S3Server, tmp_path: Path) -> Iterator[Scene]:
    bucket = f"artifacts: {{url: 's3://{BUCKET}/of/us', endpoint: '{s3.endpoint}'}}\n"
    prefix = f"e{os.urandom(6).hex()}"
    own = Scene(url, tmp_path, prefix, text=f"{bucket}pipelines: ['{DERIVING}']\n")
    yield own
    own.close()


def objects_naming(s3: S3Server) -> int:
    return sum(NAME in data for data in s3.objects[BUCKET].values())


def erase(scene: Scene, record_id: str) -> None:
    scene.app.eraser.erase([record_id], actor="person:ann", reason="request 17")


def test_what_a_worker_stored_before_it_died_is_erased_with_its_record(
    scene: Scene, s3: S3Server
) -> None:
    scene.worker_settings("victim")
    config = scene.folder / "victim" / "config.yaml"
    command = [sys.executable, "-m", "stateward", "--config", str(config), "worker"]
    environ = {**os.environ, "STATEWARD_CRASH_AT": Point.FILE_STORED.label}
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as victim:
        record = scene.app.submit(NAME + b" 1", machine="deriving").record
        scene.until(lambda: victim.poll() is not None)
    assert objects_naming(s3) == 2  # the document, and a file that no result will ever name
    scene.app.actions.act("cancel", record.id, actor="person:ann", reason=None)
    scene.finish(record.id)

    erase(scene, record.id)

    assert objects_naming(s3) == 0
    assert [key for key in s3.objects[BUCKET] if "/announced/" in key] == []


def test_what_a_worker_stores_after_the_erasure_is_deleted_by_the_next_sweeps(
    scene: Scene, s3: S3Server
) -> None:
    scene.add_worker()
    record = scene.app.submit(NAME + b" 1", machine="deriving").record
    assert scene.finish(record.id) == "read"
    erase(scene, record.id)
    assert objects_naming(s3) == 0
    (late,) = scene.worker_apps
    end = remote_end(late)
    StageFiles(end.outputs, late.artifacts, record.id, {}, late.clock).store(NAME + b", late")
    end._channel.close()

    scene.app.eraser.sweep()
    assert objects_naming(s3) == 1  # it may be of an attempt that goes on
    scene.app.database.run("UPDATE announced_files SET at = at - :by", by=SETTLED_WITHIN + 1)
    assert scene.app.eraser.sweep().files >= 1

    assert objects_naming(s3) == 0
    assert scene.app.admin.verify().findings == ()


def test_messages_that_went_through_the_bucket_are_erased_with_their_record(
    scene: Scene, s3: S3Server
) -> None:
    scene.add_worker()
    record = scene.app.submit(NAME + b" 60000", machine="deriving").record
    assert scene.finish(record.id) == "read"
    assert len(list(scene.app.items(record.id))) == 60_000
    assert objects_naming(s3) == 3  # the document, the derived file, and the message with all items

    erase(scene, record.id)

    assert objects_naming(s3) == 0

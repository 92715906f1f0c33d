"""The stores of artifacts that the shared suite runs over."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from lab.s3 import ENVIRONMENT, S3Server
from stateward.blobs import ArtifactStore, Folder
from stateward.blobs.objects import ObjectOptions, ObjectStorage

PART_BYTES = 1000
BUCKET = "documents"


def objects(s3: S3Server, cache: Path, *, prefix: str = "of/us", **options: float) -> ObjectStorage:
    """A store in the bucket of this server, with small parts and a short patience."""
    given = {"timeout_s": 5.0, "part_bytes": PART_BYTES, **options}
    own = ObjectOptions(url=f"s3://{BUCKET}/{prefix}", endpoint=s3.endpoint, **given)  # type: ignore[arg-type]
    return ObjectStorage(own, cache)


@contextmanager
def opened(kind: str, tmp_path: Path) -> Iterator[ArtifactStore]:
    """An empty store of one kind."""
    if kind == "folder":
        yield Folder(tmp_path / "artifacts")
        return
    with S3Server(BUCKET) as s3, patch.dict(os.environ, ENVIRONMENT):
        yield objects(s3, tmp_path / "cache")


def changed(kind: str, store: ArtifactStore, digest: str, data: bytes) -> None:
    """Put other bytes where an artifact is stored, as a damaged disk or a wrong hand would."""
    if isinstance(store, ObjectStorage):
        import obstore

        obstore.put(store._store, f"{digest[:2]}/{digest}", data)
        store._cache.place(digest).unlink(missing_ok=True)
        return
    path = store.path(digest)
    path.chmod(0o640)
    path.write_bytes(data)

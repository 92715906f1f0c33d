"""Objects under names of their own, beside those that are named by their hash: the files of backup sets."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from stateward.blobs.objects import ObjectStorage
from stateward.core.errors import ArtifactError


class Bucket(ObjectStorage):
    """A bucket, or a prefix in one. Names may have slashes."""

    def send_named(self, path: Path, name: str) -> None:
        """Store a file under a free name, in parts where it is large; `ArtifactError` if the name is taken."""
        if not self._send(path, name, size=path.stat().st_size):
            raise ArtifactError(f"{self.location}/{name} is there already")

    def fetch_named(self, name: str, to: Path) -> None:
        """Copy an object into a new file, which only its owner may read."""
        to.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(to, "xb", opener=_private) as file:
            file.writelines(self._parts_of(name))

    def read_named(self, name: str) -> bytes:
        """A small object, whole."""
        return b"".join(self._parts_of(name))

    def names(self, prefix: str) -> list[str]:
        """The names that begin with a prefix, sorted. Lists the bucket."""
        import obstore

        with self._asking():
            return sorted(
                each["path"] for page in obstore.list(self._store, prefix) for each in page
            )

    def remove_named(self, name: str) -> None:
        """Delete an object; one that is not there is no error."""
        import obstore

        with self._asking():
            obstore.delete(self._store, name)

    def _parts_of(self, name: str) -> Iterator[bytes]:
        size, part = self._size(name), self._options.part_bytes
        if size is None:
            raise ArtifactError(f"there is no {name} in {self.location}")
        for start in range(0, size, part):
            yield self._repeat(
                partial(self._read_part, name, start=start, end=min(start + part, size))
            )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

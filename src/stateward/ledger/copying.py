"""A consistent copy of a ledger that is being written to: for backups, while work goes on.

Copying the directory file by file goes wrong in two ways. A file that is copied later may speak of lines that the copy
of the delta does not have (`HEAD`, an index): the copy is then refused as damaged. And a compaction in between removes
files that the copied manifest names. So what speaks of other files is read first, and the whole is repeated if the
manifest was replaced meanwhile.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from stateward.core.errors import LedgerError
from stateward.ledger.delta import before_padding, read_chunks
from stateward.ledger.delta_index import INDEX_SUFFIX
from stateward.ledger.disk import refuse_special_files
from stateward.ledger.manifest import (
    ARCHIVE,
    HEAD,
    LOCK,
    MANIFEST,
    TREE_SUFFIX,
    Manifest,
    read_archive,
    read_manifest,
    sidecar,
)

ATTEMPTS_MAX = 20
"""A writer replaces the manifest a few times a day."""


def copy_ledger(source: Path, target: Path) -> None:
    """Make the new folder `target` a copy that opens and verifies as the original. Needs no lock.

    Raises `LedgerError`.
    """
    refuse_special_files(source)
    for _ in range(ATTEMPTS_MAX):
        target.mkdir(parents=True)
        try:
            if _copy_once(source, target):
                return
        except FileNotFoundError:
            pass  # it was compressed or removed since the manifest was read
        shutil.rmtree(target)
    raise LedgerError(f"{source} changed too often while it was being copied")


def _copy_once(source: Path, target: Path) -> bool:
    """Copy everything; False if the list of files has changed meanwhile."""
    manifest = read_manifest(source)
    head = (source / HEAD).read_bytes() if (source / HEAD).exists() else None
    if manifest is None:
        # It is damaged, or there is nothing yet: a copy of it as it stands is the best there is.
        ignored = shutil.ignore_patterns(LOCK)
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        return True
    listed = (source / MANIFEST).read_bytes()
    for name in _names(source, manifest):
        if name == manifest.active.file:
            _copy_active(source / name, target / name)
        else:
            shutil.copyfile(source / name, target / name)
    if read_manifest(source) != manifest or (source / MANIFEST).read_bytes() != listed:
        return False
    (target / MANIFEST).write_bytes(listed)
    if head is not None:
        (target / HEAD).write_bytes(head)
    return True


def _copy_active(source: Path, target: Path) -> None:
    """Copy up to the padding.

    Behind the place that was read last the writer may have filled in lines meanwhile, and the copy of those alone would
    look like damage.
    """
    last = b"\n"
    with target.open("wb") as file:
        for data in read_chunks(source):
            lines = before_padding(data if last == b"\n" else b"_" + data)
            lines = lines if last == b"\n" else lines[1:]
            file.write(lines)
            if len(lines) < len(data):
                return
            last = data[-1:]


def _names(source: Path, manifest: Manifest) -> Iterator[str]:
    """The files of a ledger, each after those that speak of it."""
    segments = [*read_archive(source, manifest), *manifest.deltas]
    deltas = [info.file for info in segments if not info.is_removed]
    files = [*deltas, *(info.file for info in manifest.snapshots)]
    for file in files:
        for name in (sidecar(file, INDEX_SUFFIX), sidecar(file, TREE_SUFFIX)):
            if (source / name).exists():
                yield name
    yield from files
    if manifest.archive_bytes:
        yield ARCHIVE
    yield from (path.name for path in source.glob("checkpoint-*.txt"))

"""Migration of old ledgers with free-form states: look first, keep a copy, build beside, check, then replace.

    dry run     read every line and report what would happen; nothing is written
    backup      `ledger.jsonl.2025-10-04.<sha256>.backup`, the same bytes, durable before anything else
    build       a new ledger in a folder of its own beside the target, in import mode, in durable groups; each line
                carries the number of the old line it came from, so a killed migration continues where it was
    check       every byte against the chain, every document against what the old ledger said
    publish     `--output`: the folder is renamed. In place: the files are moved in, HEAD first and MANIFEST last.
                Between the two HEAD names lines that no file has, so opening the folder is refused; migrating
                again finishes the move

Run twice it changes nothing: the target knows the SHA-256 of what it was made of, and that of the table of words.
`undo` puts the new ledger aside and restores the old bytes; if the old file has changed since, that is refused, or the
changed file is kept beside. The old file itself is never written to.
"""

import errno
import re
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from shlex import quote

import msgspec
from msgspec.structs import replace

from stateward.core.errors import (
    InvalidRequest,
    LedgerDamaged,
    LedgerError,
    LedgerPoisoned,
)
from stateward.ledger.compaction import READS
from stateward.ledger.disk import CHUNK_BYTES, Disk, file_chunks, wall_clock, write_atomically
from stateward.ledger.ledger import Ledger
from stateward.ledger.legacy import LegacyMapping, LegacyReader
from stateward.ledger.manifest import ARCHIVE, HEAD, LOCK, MANIFEST, date_label, is_ledger
from stateward.ledger.migration_backups import LedgerBackup, backups
from stateward.ledger.migration_report import MigrationCounts, MigrationReport
from stateward.ledger.record import IMPORT_OPENED, LedgerEntry, OldRow
from stateward.ledger.verification import verify

GROUP_LINES = 8192
"""Written and synced together: more gains nothing, fewer cost a sync each."""
LINES_AT_ONCE = 256
"""Read together; if one of them is unusual, all of them are read one by one."""
LINE_BYTES_MAX = 64 << 20
"""A longer line counts as broken: it would be held in memory several times over."""
COPIES, LINE_BYTES_MORE = 2, 350
"""What the new ledger takes at most: what the old lines say twice, in the log and in the snapshot (if each is a
document of its own), and for each its seal, numbers, source and place in the index, and words that were replaced."""
READING_SHARE, CHECKING_FROM = 0.75, 0.9
"""Of the time of a migration: reading and writing lines comes first, then the snapshot, then the check."""
WHOLE_TO_READING = 4.5
"""A dry run only reads and counts; the whole takes four or five times as long."""
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""What may pass by itself or by freeing space, while the migration that it stopped can go on."""
SOURCE_PREFIX = "migration:"
PUBLISHING = "PUBLISHING"
"""A file in the folder that was built: the ledger is complete, and its files are being moved."""
SET_ASIDE = ".undone-"
SET_ASIDE_MAX = 10_000
COMPRESSED = {
    b"\x1f\x8b": "gzip -dc <",
    b"\x28\xb5\x2f\xfd": "zstd -dc <",
    b"BZh": "bzip2 -dc <",
    b"\xfd7zXZ": "xz -dc <",
    b"PK\x03\x04": "unzip -p",
}
"""How compressed files start, and what unpacks them, whatever their names end with."""
ENCODINGS = {
    rb"\xff\xfe\0\0|\0\0\xfe\xff": "UTF-32",
    rb"\xff\xfe|\xfe\xff": "UTF-16",
    rb"[^\0]\0\0\0": "UTF-32LE",
    rb"\0\0\0[^\0]": "UTF-32BE",
    rb"[^\0]\0": "UTF-16LE",
    rb"\0[^\0]": "UTF-16BE",
}
"""How files in other encodings start, with a mark or without: no line of JSON has a zero byte."""
_MAPPING = re.compile("mapping ([0-9a-f]{64})")


class MigrationProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a migration is: `what` it does, bytes of the old file, lines a second, seconds that are left."""

    what: str
    done: int
    all: int
    lines: int
    lines_per_s: float
    left_s: float


def ignore_progress(_: MigrationProgress) -> None:
    """Report nothing."""


def migrate(
    source: Path,
    *,
    output: Path | None = None,
    in_place: bool = False,
    mapping: LegacyMapping | None = None,
    dry_run: bool = False,
    progress: Callable[[MigrationProgress], None] = ignore_progress,
    clock: Callable[[], float] = wall_clock,
    ticks: Callable[[], float] = time.monotonic,
    free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    disk: Disk | None = None,
) -> MigrationReport:
    """Make a ledger of an old file: in the new folder `output`, or in the folder of the file itself.

    Raises `InvalidRequest` for a wrong request and `LedgerError` for what cannot be done; then the old file is as it
    was, and there is no new ledger. Running it again after any failure is safe, and continues where it was.
    """
    old = _OldFile(source)
    target = _target(source, output, in_place=in_place, is_dry_run=dry_run)
    job = _Migration(
        old,
        target,
        mapping or LegacyMapping(),
        progress=progress,
        clock=clock,
        ticks=ticks,
        disk=disk or Disk(),
        in_place=in_place,
    )
    if not dry_run:
        job.finish_publishing()
    if job.is_done():
        backup = job.known_backup()
        return replace(job.look(), is_done_already=True, backup=str(backup) if backup else None)
    if target.exists() and not target.is_dir():
        raise InvalidRequest(f"{target} is a file; name a new folder")
    if is_ledger(target):
        raise InvalidRequest(
            f"{target} is a ledger already, and was not made of this file; name a new folder"
        )
    if dry_run:
        return job.look()
    job.check_space(free_bytes)
    try:
        return job.run()
    except (LedgerError, OSError) as error:
        failed = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(failed, OSError) or failed.errno not in DISK_ERRORS:
            raise
        raise LedgerPoisoned(
            f"the migration of {source} stopped: {failed.strerror}; the old file is as it was. Free space or repair "
            "the disk, then run the same command again: it goes on where it was"
        ) from error


class _OldFile:
    """The old ledger as it was at the start: its size, its hash, and whether it has been written to since."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InvalidRequest(f"there is no file {path}")
        if not path.is_file():
            raise InvalidRequest(
                f"{path} is not a file; name the old ledger itself, such as ledger.jsonl"
            )
        self.path = path
        check_encoding(path)
        stat = path.stat()
        self.size, self.changed_at, self._changed_ns = stat.st_size, stat.st_mtime, stat.st_mtime_ns
        digest, self.lines = sha256(), 0
        for chunk in file_chunks(path):
            digest.update(chunk)
            self.lines += chunk.count(b"\n")
        self.sha256 = digest.hexdigest()

    def check_unchanged(self) -> None:
        """Refuse a file that was written to meanwhile: those lines would be in neither ledger."""
        stat = self.path.stat()
        if (stat.st_size, stat.st_mtime_ns) != (self.size, self._changed_ns):
            raise LedgerError(
                f"{self.path} changed while it was being migrated; stop the program that writes to it and run again"
            )


def check_encoding(path: Path) -> None:
    """Refuse a file that is not lines of UTF-8 at all: every line of it would count as broken, one by one."""
    with path.open("rb") as file:
        start = file.read(len(max(COMPRESSED, key=len)))
    tool = next((COMPRESSED[magic] for magic in COMPRESSED if start.startswith(magic)), None)
    if tool is not None:
        raise InvalidRequest(
            f"{path} is compressed; unpack it first, with: {_converted_by(tool, path)}"
        )
    name = next((ENCODINGS[each] for each in ENCODINGS if re.match(each, start)), None)
    if name is not None:
        raise InvalidRequest(
            f"{path} is {name}; convert it first, with: {_converted_by(f'iconv -f {name} -t UTF-8', path)}"
        )


def _converted_by(tool: str, path: Path) -> str:
    """The command that puts what a tool makes of a file beside it, as a shell reads it."""
    return f"{tool} {quote(str(path))} > {quote(f'{path}.plain')}"


def _target(source: Path, output: Path | None, *, in_place: bool, is_dry_run: bool) -> Path:
    if in_place and output is not None:
        raise InvalidRequest("in place or to an output folder: take one")
    if output is not None:
        return output
    if in_place or is_dry_run:
        return source.parent
    raise InvalidRequest("say where the new ledger goes: an output folder, or in place")


def _is_made_of(ledger: Ledger, digest: str) -> bool:
    """Whether the ledger was made of a file with this SHA-256."""
    if ledger.source_seq(_source_name(digest)):
        return True
    first = next(ledger.records(), None)  # an old ledger without one usable line left only this one
    return first is not None and first.new_state == IMPORT_OPENED and digest in str(first.metadata)


def _source_name(digest: str) -> str:
    return SOURCE_PREFIX + digest[:32]


class _Migration:
    """One migration of one file to one place."""

    def __init__(
        self, old: _OldFile, target: Path, mapping: LegacyMapping, *, progress: Callable[[MigrationProgress], None],
        clock: Callable[[], float], ticks: Callable[[], float], disk: Disk, in_place: bool,
    ) -> None:  # fmt: skip
        self._old, self._target, self.mapping = old, target, mapping
        self._clock, self._disk, self._in_place = clock, disk, in_place
        self._progress, self._ticks, self._started_at = progress, ticks, ticks()
        self._is_read_back = False
        # Another file or another mapping must not continue what this one began.
        key = sha256(f"{old.sha256} {mapping.digest}".encode()).hexdigest()[:16]
        self._stem = ".migrating-" if in_place else f".{target.name}.migrating-"
        self._folder = (target if in_place else target.parent) / f"{self._stem}{key}"

    def is_done(self) -> bool:
        """Whether the target was made of this very file; refused if that was with another table of words."""
        if not (self._target / MANIFEST).exists():
            return False
        with Ledger.open(self._target, read_only=True) as ledger:
            if not _is_made_of(ledger, self._old.sha256):
                return False
            first = next(ledger.records(), None)
        mapping = _MAPPING.search(str(first.metadata)) if first is not None else None
        if mapping is not None and mapping[1] != self.mapping.digest:
            raise InvalidRequest(
                f"{self._target} was made of this file with another table of words; nothing was changed. Undo that "
                "migration first (--rollback), or name a new folder"
            )
        return True

    def look(self) -> MigrationReport:
        """Read everything and write nothing."""
        counts = MigrationCounts(self.mapping)
        for _ in self._entries(self._old.path, counts, share=1.0):
            pass
        taken_s = self._ticks() - self._started_at
        report = self._report(counts)
        return replace(report, is_dry_run=True, expected_s=taken_s * WHOLE_TO_READING)

    def check_space(self, free_bytes: Callable[[Path], int]) -> None:
        """Refuse what would fill the disk: it would be refused in the middle otherwise, after minutes."""
        size = self._old.size
        # A migration that goes on has part of it already.
        built = sum(path.stat().st_size for path in self._folder.glob("*"))
        most = COPIES * size + LINE_BYTES_MORE * self._old.lines
        folders = [(self._folder.parent, max(0, most - built))]
        if self.known_backup() is None:
            folders.append((self._old.path.parent, size))
        wanted = sum(each for _, each in folders)
        for folder, _ in folders:
            there = next(each for each in (folder, *folder.parents) if each.is_dir())
            if (free := free_bytes(there)) < wanted:
                raise LedgerError(
                    f"the migration needs up to {wanted / 1e6:,.0f} MB for the new ledger and the backup, and {there} "
                    f"has {free / 1e6:,.0f} MB left; nothing was written"
                )

    def run(self) -> MigrationReport:
        """Backup, build, check, publish. Until the last of them the folder of the target is as it was."""
        self._check_target_is_free()
        had_backup = self.known_backup() is not None
        backup = self._backup()
        counts = MigrationCounts(self.mapping)
        resumed = self._build(backup, counts)
        report = self._report(counts)
        if not report.is_usable:
            shutil.rmtree(self._folder)
            if not had_backup:
                self._disk.unlink(backup)
            if not report.broken:
                raise LedgerError(
                    f"{self._old.path} has no line with anything in it, so there is nothing to migrate; nothing was "
                    "written"
                )
            first = report.broken_places[0]
            raise LedgerError(
                f"not one of the {report.lines} lines of {self._old.path} can be read; nothing was written. "
                f"line {first.line}: {first.sentence}"
            )
        self._check(counts)
        self._old.check_unchanged()
        self._publish()
        return replace(report, backup=str(backup), resumed_after_line=resumed)

    def _report(self, counts: MigrationCounts) -> MigrationReport:
        old, target = self._old, str(self._target)
        return replace(
            counts.report(), source=str(old.path), sha256=old.sha256, bytes=old.size, target=target
        )

    def _show(self, what: str, share: float, lines: int) -> None:
        """`share` is that of the whole migration, so that the time that is left is right in every part of it."""
        passed = max(self._ticks() - self._started_at, 1e-9)
        left_s = passed * (1 - share) / share if share else 0.0
        self._progress(
            MigrationProgress(
                what=what,
                done=round(share * self._old.size),
                all=self._old.size,
                lines=lines,
                lines_per_s=lines / passed,
                left_s=max(left_s, 0.0),
            )
        )

    def _check_target_is_free(self) -> None:
        """Nothing else may end up inside a ledger, where compaction and retention delete files."""
        target, name = self._target, self._old.path.name
        if not self._in_place:
            if target.is_dir() and any(target.iterdir()):
                raise InvalidRequest(f"{target} is not empty; name a new folder")
            return
        others = [each.name for each in target.iterdir() if not each.name.startswith((name, "."))]
        if others:
            raise InvalidRequest(
                f"{target} would become the ledger, but holds more than {name}, such as {min(others)!r}; "
                "move it to a folder of its own, or name an output folder"
            )

    # Backup

    def known_backup(self) -> Path | None:
        """The backup of these very bytes, by its name."""
        old = self._old
        found = backups(old.path.parent, old.path.name)
        return next((each.path for each in found if each.sha256 == old.sha256), None)

    def _backup(self) -> Path:
        """A copy of the old file, hashed on its way: what is imported later is this copy, not a file that may grow."""
        known = self.known_backup()
        if known is not None and known.stat().st_size == self._old.size:
            return known
        old, expected = self._old.path, self._old.sha256
        path = old.with_name(f"{old.name}.{date_label(self._clock())}.{expected}.backup")

        def checked() -> Iterator[bytes]:
            digest = sha256()
            for chunk in file_chunks(old):
                digest.update(chunk)
                yield chunk
            if digest.hexdigest() != expected:
                raise LedgerError(
                    f"{old} changed while it was being copied; stop the program that writes to it and run again"
                )

        write_atomically(self._disk, path, checked())
        return path

    # Building

    def _build(self, backup: Path, counts: MigrationCounts) -> int:
        """Import every line into a ledger in a folder of our own; the number of the line after which it continued."""
        parent = self._folder.parent
        for path in parent.iterdir() if parent.is_dir() else ():
            if path.name.startswith(self._stem) and path != self._folder:
                shutil.rmtree(path)  # of another file or another mapping
        try:
            return self._import(backup, counts)
        except LedgerDamaged:
            # A power cut damaged what was never published: start again.
            shutil.rmtree(self._folder)
            counts.clear()
            return self._import(backup, counts)

    def _import(self, backup: Path, counts: MigrationCounts) -> int:
        """Import what is not there yet. The report needs all lines, so those that are there are read again."""
        name = _source_name(self._old.sha256)
        reason = f"migration of {self._old.path.name}, sha256 {self._old.sha256}, mapping {self.mapping.digest}"
        with Ledger.open(self._folder, clock=self._clock, disk=self._disk) as ledger:
            done = ledger.source_seq(name)
            if ledger.snapshots():  # it was complete; only checking and publishing are left
                for _ in self._entries(backup, counts):
                    pass
                return done
            with ledger.importing(reason=reason[:1000]) as importer:
                for entries in self._entries(backup, counts):
                    fresh = [each for each in entries if (each.source_seq or 0) > done]
                    importer.record_many(fresh, source=name, is_vetted=True)
            share = READING_SHARE
            self._show("writing the snapshot", share, counts.lines)

            def show(what: str, read: int, every: int) -> None:
                nonlocal share
                if what == READS:
                    share = READING_SHARE + (CHECKING_FROM - READING_SHARE) * read / every
                self._show("writing the snapshot", share, counts.lines)

            # Reads every line again, and checks it against the chain.
            ledger.compact(compress=False, progress=show)
            self._is_read_back = True
        return done

    def _entries(
        self, path: Path, counts: MigrationCounts, *, share: float = READING_SHARE
    ) -> Iterator[list[LedgerEntry | OldRow]]:
        """The usable lines of the old ledger in groups, counted on the way; `share` is what reading is of the whole."""
        per_byte = share / max(self._old.size, 1)
        reader = LegacyReader(self.mapping, first_at=self._old.changed_at)
        done, number, entries = 0, 1, list[LedgerEntry | OldRow]()
        lines = _lines(path)
        while texts := list(islice(lines, LINES_AT_ONCE)):
            done += sum(map(len, texts))
            entries += counts.add_many(reader, texts, number)
            number += len(texts)
            if len(entries) >= GROUP_LINES:
                yield entries
                entries = []
                self._show("reading", done * per_byte, number - 1)
        yield entries
        self._show("reading", share, counts.lines)

    # Checking and publishing

    def _check(self, counts: MigrationCounts) -> None:
        """The new ledger, as any reader opens it, against what the old file said; counted on two separate ways."""
        self._show("checking", CHECKING_FROM, counts.lines)
        if not self._is_read_back:  # an earlier run built it, and it may have been damaged since
            show = partial(self._show, "checking", CHECKING_FROM, counts.lines)
            if findings := verify(self._folder, progress=lambda _what, _count: show()).findings:
                raise LedgerDamaged(findings)
        with Ledger.open(self._folder, read_only=True, clock=self._clock) as ledger:
            every = max(counts.documents, 1)
            for number, document in enumerate(ledger.documents(), 1):
                if number % GROUP_LINES == 0:
                    done = CHECKING_FROM + (1 - CHECKING_FROM) * number / every
                    self._show("checking", done, counts.lines)
                expected = counts.state_of(document.doc_id)
                if document.state != expected:
                    raise LedgerError(
                        f"the new ledger has {document.doc_id!r} in {document.state}, the old one in {expected}; "
                        "nothing was replaced. This is a bug in Stateward"
                    )
            self._show("checking", 1.0, counts.lines)
            found = {str(state): count for state, count in ledger.counts().items()}
        if found != counts.state_counts():
            raise LedgerError(
                f"the new ledger counts {found}, the old one {counts.state_counts()}; nothing was replaced"
            )

    def _publish(self) -> None:
        """One rename, which is atomic; in place there are several, and a note that says they must be finished."""
        if self._in_place:
            note = b"the files here move to the folder above; migrate again to go on\n"
            write_atomically(self._disk, self._folder / PUBLISHING, note)
            self.finish_publishing()
        else:
            self._disk.rename(self._folder, self._target)
            self._disk.sync_dir(self._target.parent)

    def finish_publishing(self) -> None:
        """Move the files of a complete ledger, or those that are left, to their place."""
        if not (self._folder / PUBLISHING).exists():
            return
        names = [
            path.name for path in self._folder.iterdir() if path.name not in (LOCK, PUBLISHING)
        ]
        for name in sorted(names, key=lambda each: (each == MANIFEST, each != HEAD, each)):
            if name == MANIFEST:
                # It must not arrive before the files that it names.
                self._disk.sync_dir(self._target)
            self._disk.rename(self._folder / name, self._target / name)
        self._disk.sync_dir(self._target)
        shutil.rmtree(self._folder)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file. One that is too long is replaced by a broken one, as it would not fit into memory."""
    with path.open("rb", buffering=CHUNK_BYTES) as file:
        while text := file.readline(LINE_BYTES_MAX):
            if len(text) == LINE_BYTES_MAX and not text.endswith(b"\n"):
                while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
                    pass
                text = b"{"
            yield text


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


# Undo


class MigrationUndo(msgspec.Struct, frozen=True, kw_only=True):
    """What undoing a migration did, or would do. `changed_as`: where the old file goes that was written to since."""

    source: str
    target: str
    backup: str
    aside: str
    later_records: int
    is_restored: bool
    changed_as: str | None
    is_executed: bool

    @property
    def loss(self) -> str:
        """What would no longer be in use afterwards, as a sentence; empty if there is nothing."""
        losses = []
        if self.later_records:
            newer = f"{self.later_records} records that are newer than the migration; they"
            newer = (
                "1 record that is newer than the migration; it"
                if self.later_records == 1
                else newer
            )
            losses.append(f"{self.target} has {newer} would stay in {self.aside} alone")
        if self.changed_as is not None:
            losses.append(
                f"{self.source} was written to after the migration; that would stay in {self.changed_as} alone"
            )
        return ". ".join(losses)


def undo(
    source: Path, *, output: Path | None = None, in_place: bool = False, accept_loss: bool = False,
    execute: bool = False, clock: Callable[[], float] = wall_clock, disk: Disk | None = None,
) -> MigrationUndo:  # fmt: skip
    """Put the new ledger aside, whole, and make sure that the old file has the bytes that it was made of.

    Without `execute` it only says what it would do. Refused when the new ledger has records that the old one never had,
    or when the old file was written to since, unless `accept_loss`; even then nothing is deleted.
    """
    target = _target(source, output, in_place=in_place, is_dry_run=False)
    seam = disk or Disk()
    backup, later = _origin_of(source, target)
    is_there = source.is_file()
    is_restored = not is_there or _digest(source) != backup.sha256
    label = date_label(clock())
    changed = _unused_path(source.with_name(f"{source.name}.replaced-{label}"))
    aside = SET_ASIDE + label
    aside_as = _unused_path(target / aside if in_place else target.with_name(target.name + aside))
    done = MigrationUndo(
        source=str(source), target=str(target), backup=str(backup.path),
        aside=str(aside_as), later_records=later, is_restored=is_restored,
        changed_as=str(changed) if is_there and is_restored else None, is_executed=execute,
    )  # fmt: skip
    if not execute:
        return done
    if done.loss and not accept_loss:
        raise InvalidRequest(f"{done.loss}; add --accept-loss to do it all the same")
    if is_restored:
        # Hidden: no file of the user has this name.
        copy = source.with_name(f".{source.name}.restoring")
        write_atomically(seam, copy, file_chunks(backup.path))
        if is_there:
            seam.rename(source, changed)
        seam.rename(copy, source)
        seam.sync_dir(source.parent)
    _put_aside(seam, target, aside_as, in_place=in_place)
    return done


def _origin_of(source: Path, target: Path) -> tuple[LedgerBackup, int]:
    """The backup of what a target was made of, and how many records it got since."""
    with Ledger.open(target, read_only=True) as ledger:
        for each in backups(source.parent, source.name):
            if _is_made_of(ledger, each.sha256):
                if _digest(each.path) != each.sha256:
                    raise LedgerError(
                        f"{each.path} is not any more what it was; nothing was changed"
                    )
                name, records = _source_name(each.sha256), ledger.records()
                return each, sum(not line.is_control and line.source != name for line in records)
    raise InvalidRequest(
        f"{target} was not made of {source}, or its backup is gone; nothing was changed"
    )


def _unused_path(path: Path) -> Path:
    """The path, or the same with a number if there is such a file already."""
    for number in range(1, SET_ASIDE_MAX):
        found = path if number == 1 else path.with_name(f"{path.name}.{number}")
        if not found.exists():
            return found
    raise LedgerError(f"{path} was made too often today")


def _put_aside(disk: Disk, target: Path, aside: Path, *, in_place: bool) -> None:
    """Move the new ledger out of the way; in place only its own files, because the old one lives beside them."""
    if not in_place:
        disk.rename(target, aside)
        disk.sync_dir(target.parent)
        return
    disk.make_dir(aside)
    names = [
        path.name for path in target.iterdir()
        if path.name in (MANIFEST, HEAD, ARCHIVE)
        or (path.is_file() and path.name.startswith(("delta-", "snapshot-", "checkpoint-")))
    ]  # fmt: skip
    # The reverse of publishing: from the first move to the last one the folder cannot be opened.
    for name in sorted(names, key=lambda each: (each != MANIFEST, each == HEAD, each)):
        disk.rename(target / name, aside / name)
    disk.sync_dir(aside)
    disk.sync_dir(target)

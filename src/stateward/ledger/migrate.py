"""Migration of old ledgers of free-form words: look first, keep a copy, build beside, check, then replace in one step.

    dry run     read every line; the report says what would be; nothing is written
    backup      `ledger.jsonl.2025-10-04.<sha256>.backup`, the same bytes, durable before anything else
    build       a new ledger in a folder of its own beside the target, through the import door, in durable groups;
                each line carries the number of the old line it came from, so a killed migration goes on where it was
    check       every byte against the chain, every document against what the old ledger said
    publish     `--output`: the folder gets its name. In place: the files move in, HEAD first, MANIFEST last, so that
                what is between is refused by whoever opens it, and finished by whoever migrates again

Run twice it changes nothing: the target knows the SHA-256 of what it was made of. `undo` puts the new ledger aside
and brings the old bytes back. Memory grows with documents, not with lines. The old file itself is never written to.
"""

import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.ledger.disk import Disk, put, wall_clock
from stateward.ledger.errors import LedgerDamaged, LedgerError
from stateward.ledger.ledger import Ledger
from stateward.ledger.legacy import Reader, StateMap
from stateward.ledger.manifest import (
    HEAD,
    LOCK,
    MANIFEST,
    date_label,
)
from stateward.ledger.rebuild import is_ledger
from stateward.ledger.record import IMPORT_OPENED, Entry
from stateward.ledger.states import LITERATURE
from stateward.ledger.verify import verify

GROUP_LINES = 8192
COPY_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20
LISTED_MAX = 1000
WORDS_LISTED_MAX = 1000
BACKUP_DAYS = 30
OTHER = "(other)"
NOTHING = "(nothing)"
SOURCE = "migration:"
PUBLISHING = "PUBLISHING"
_BACKUP = re.compile(r"(?P<name>.+)\.(?P<date>\d{4}-\d\d-\d\d)\.(?P<sha256>[0-9a-f]{64})\.backup")
_ASIDE = ".undone-"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a migration is: `what` it does, bytes of the old file, lines a second, seconds that are left."""

    what: str
    done: int
    all: int
    lines: int
    lines_per_s: float
    left_s: float


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the old ledger, and what is to be said of it."""

    line: int
    sentence: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a migration saw and did, or would do. Lists of places are cut off at 1,000; the counts are not."""

    source: str
    sha256: str
    bytes: int
    target: str
    is_dry_run: bool
    is_done_already: bool = False
    backup: str | None = None
    resumed_after_line: int = 0
    lines: int
    blank: int
    broken: int
    records: int
    documents: int
    words: dict[str, tuple[str, int]]
    """Each word for a state in the old ledger: the state that it became, and on how many lines it stands."""
    unmapped: dict[str, int]
    before: dict[str, int]
    """Documents by the last word that the old ledger has for them."""
    after: dict[str, int]
    """Documents by state in the new ledger."""
    impossible: int
    impossible_moves: dict[str, int]
    repeated: int
    disagreeing: int
    times_assumed: int
    impossible_places: tuple[Place, ...] = ()
    disagreeing_places: tuple[Place, ...] = ()
    broken_places: tuple[Place, ...] = ()


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of an old ledger that a migration made."""

    path: Path
    day: date
    sha256: str
    bytes: int


def nobody(_: Progress) -> None:
    """Nobody looks."""


def migrate(
    source: Path,
    *,
    output: Path | None = None,
    in_place: bool = False,
    mapping: StateMap | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] = nobody,
    clock: Callable[[], float] = wall_clock,
    ticks: Callable[[], float] = time.monotonic,
    disk: Disk | None = None,
) -> Report:
    """Make a ledger of an old file: in the new folder `output`, or in the folder of the file itself.

    Raises `InvalidRequest` for what cannot be meant and `LedgerError` for what cannot be done; then the old file is as
    it was, and there is no new ledger. To run it again after any failure is right, and goes on where it was.
    """
    old = _OldFile(source)
    target = _target(source, output, in_place=in_place, is_dry_run=dry_run)
    table = mapping or StateMap()
    job = _Job(
        old,
        target,
        table,
        progress=progress,
        clock=clock,
        ticks=ticks,
        disk=disk or Disk(),
        in_place=in_place,
    )
    if (not dry_run and job.finish_publishing()) or _holds(target, old.sha256):
        return replace(job.look(), is_done_already=True, backup=job.known_backup())
    _refuse_other(target)
    return job.look() if dry_run else job.run()


class _OldFile:
    """The old ledger as it was when we came: its size, its hash, and whether somebody has written to it since."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InvalidRequest(f"there is no file {path}")
        if not path.is_file():
            raise InvalidRequest(
                f"{path} is not a file; name the old ledger itself, such as ledger.jsonl"
            )
        self.path = path
        self._stamp = self._look()
        self.size = self._stamp[0]
        self.changed_at = path.stat().st_mtime
        self.sha256 = _digest(path)

    def _look(self) -> tuple[int, int]:
        stat = self.path.stat()
        return stat.st_size, stat.st_mtime_ns

    def check_unchanged(self) -> None:
        if self._look() != self._stamp:
            raise LedgerError(
                f"{self.path} changed while it was being migrated; stop whoever writes to it and run again"
            )


def _target(source: Path, output: Path | None, *, in_place: bool, is_dry_run: bool) -> Path:
    if in_place and output is not None:
        raise InvalidRequest("in place or to an output folder: take one")
    if in_place:
        return source.parent
    if output is not None:
        return output
    if is_dry_run:
        return source.parent
    raise InvalidRequest("say where the new ledger goes: an output folder, or in place")


def _holds(target: Path, digest: str) -> bool:
    """Whether the target is a ledger that was made of these very bytes."""
    if not (target / MANIFEST).exists():
        return False
    with Ledger.open(target, read_only=True) as ledger:
        return _is_made_of(ledger, digest)


def _is_made_of(ledger: Ledger, digest: str) -> bool:
    if ledger.source_seq(_source_name(digest)):
        return True
    first = next(ledger.records(), None)  # an old ledger without one usable line
    return first is not None and first.new_state == IMPORT_OPENED and digest in str(first.metadata)


def _refuse_other(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise InvalidRequest(f"{target} is a file; name a new folder")
    if target.is_dir() and is_ledger(target):
        raise InvalidRequest(
            f"{target} is a ledger already, and was not made of this file; name a new folder"
        )


def _source_name(digest: str) -> str:
    return SOURCE + digest[:32]


class _Job:
    """One migration of one file to one place."""

    def __init__(
        self, old: _OldFile, target: Path, mapping: StateMap, *, progress: Callable[[Progress], None],
        clock: Callable[[], float], ticks: Callable[[], float], disk: Disk, in_place: bool,
    ) -> None:  # fmt: skip
        self._old, self._target, self._mapping = old, target, mapping
        self._clock, self._disk, self._in_place = clock, disk, in_place
        self._meter = _Meter(progress, ticks)
        self._is_read_back = False
        # Another file or another table must not go on with what this one began.
        key = sha256(f"{old.sha256} {mapping.digest}".encode()).hexdigest()[:16]
        self._stem = ".migrating-" if in_place else f".{target.name}.migrating-"
        self._folder = (target if in_place else target.parent) / f"{self._stem}{key}"

    def look(self) -> Report:
        """Read everything and write nothing."""
        tally = _Tally(self._mapping)
        for _ in self._entries(self._old.path, tally):
            pass
        return self._report(tally, is_dry_run=True)

    def run(self) -> Report:
        self._check_room()
        backup = self._backup()
        tally = _Tally(self._mapping)
        resumed = self._build(backup, tally)
        self._check(tally)
        self._old.check_unchanged()
        self._publish()
        done = self._report(tally, is_dry_run=False)
        return replace(done, backup=str(backup), resumed_after_line=resumed)

    def _report(self, tally: "_Tally", *, is_dry_run: bool) -> Report:
        old = self._old
        return tally.report(
            source=str(old.path),
            digest=old.sha256,
            size=old.size,
            target=str(self._target),
            is_dry_run=is_dry_run,
        )

    def _check_room(self) -> None:
        """The folder of the target holds nothing that would be in the way."""
        if self._in_place:
            name = self._old.path.name
            others = [
                each.name
                for each in self._target.iterdir()
                if not each.name.startswith((name, "."))
            ]
            if others:
                raise InvalidRequest(
                    f"{self._target} would become the ledger, but holds more than {name}, such as {min(others)!r}; "
                    "move it to a folder of its own, or name an output folder"
                )
        elif self._target.is_dir() and any(self._target.iterdir()):
            raise InvalidRequest(f"{self._target} is not empty; name a new folder")

    # Backup

    def known_backup(self) -> str | None:
        found = [each for each in backups(self._old.path) if each.sha256 == self._old.sha256]
        return str(found[0].path) if found else None

    def _backup(self) -> Path:
        known = self.known_backup()
        if known is not None and Path(known).stat().st_size == self._old.size:
            return Path(known)
        old = self._old.path
        path = old.with_name(f"{old.name}.{date_label(self._clock())}.{self._old.sha256}.backup")
        temporary = path.with_name(f".{path.name}.tmp")
        with suppress(FileNotFoundError):
            self._disk.unlink(temporary)
        fd = self._disk.create(temporary)
        try:
            digest = sha256()
            for piece in _pieces(old):
                self._disk.write(fd, piece)
                digest.update(piece)
            self._disk.fsync(fd)
        finally:
            self._disk.close(fd)
        if digest.hexdigest() != self._old.sha256:
            raise LedgerError(
                f"{old} changed while it was being copied; stop whoever writes to it and run again"
            )
        self._disk.rename(temporary, path)
        self._disk.sync_dir(path.parent)
        return path

    # Building

    def _build(self, backup: Path, tally: "_Tally") -> int:
        """Bring every line into a ledger in a folder of our own; the number of the line after which it went on."""
        self._forget_others()
        try:
            return self._import(backup, tally)
        except LedgerDamaged:
            # A power cut hurt what nobody has seen yet: begin again.
            shutil.rmtree(self._folder)
            tally.clear()
            return self._import(backup, tally)

    def _forget_others(self) -> None:
        parent = self._folder.parent
        for path in parent.iterdir() if parent.is_dir() else ():
            if path.name.startswith(self._stem) and path != self._folder:
                shutil.rmtree(path)

    def _import(self, backup: Path, tally: "_Tally") -> int:
        name = _source_name(self._old.sha256)
        reason = f"migration of {self._old.path.name}, sha256 {self._old.sha256}"
        with Ledger.open(self._folder, clock=self._clock, disk=self._disk) as ledger:
            done = ledger.source_seq(name)
            if ledger.snapshots():  # it was complete; only the checks and the publishing are left
                for _ in self._entries(backup, tally):
                    pass
                return done
            with ledger.importing(reason=reason[:1000]) as door:
                group: list[Entry] = []
                for entry in self._entries(backup, tally):
                    if (entry.source_seq or 0) > done:
                        group.append(entry)
                        if len(group) >= GROUP_LINES:
                            door.record_many(group, source=name, is_vetted=True)
                            group = []
                door.record_many(group, source=name, is_vetted=True)
            ledger.compact(pack=False)  # reads every line again, and checks it against the chain
            self._is_read_back = True
        return done

    def _entries(self, path: Path, tally: "_Tally") -> Iterator[Entry]:
        """What the lines of the old ledger say, counted on the way."""
        reader = Reader(self._mapping, first_at=self._old.changed_at)
        done = 0
        for number, text in enumerate(_lines(path), 1):
            done += len(text)
            if number % GROUP_LINES == 0:
                self._meter.show("reading", done, self._old.size, number)
            entry = tally.take(reader, text, number)
            if entry is not None:
                yield entry
        self._meter.show("reading", done, self._old.size, tally.lines)

    # Checking and publishing

    def _check(self, tally: "_Tally") -> None:
        self._meter.show("checking", self._old.size, self._old.size, tally.lines)
        verdict = None if self._is_read_back else verify(self._folder)
        if verdict is not None and not verdict.is_sound:
            raise LedgerDamaged(verdict.findings)
        with Ledger.open(self._folder, read_only=True, clock=self._clock) as ledger:
            for document in ledger.documents():
                expected = tally.state_of(document.doc_id)
                if document.state != expected:
                    raise LedgerError(
                        f"the new ledger has {document.doc_id!r} in {document.state}, the old one in {expected}; "
                        "nothing was replaced. This is a bug in Stateward"
                    )
            counts = {str(state): count for state, count in ledger.counts().items()}
        if counts != tally.after():
            raise LedgerError(
                f"the new ledger counts {counts}, the old one {tally.after()}; nothing was replaced"
            )

    def _publish(self) -> None:
        if not self._in_place:
            self._disk.rename(self._folder, self._target)
            self._disk.sync_dir(self._target.parent)
            return
        put(
            self._disk,
            self._folder / PUBLISHING,
            b"the files here move to the folder above; migrate again to go on\n",
        )
        self.finish_publishing()

    def finish_publishing(self) -> bool:
        """Move the files of a finished ledger, or those that are left, to their place; False if there are none."""
        if not (self._folder / PUBLISHING).exists():
            return False
        names = [
            path.name for path in self._folder.iterdir() if path.name not in (LOCK, PUBLISHING)
        ]
        for name in sorted(names, key=lambda each: (each == MANIFEST, each != HEAD, each)):
            if name == MANIFEST:
                self._disk.sync_dir(self._target)
            self._disk.rename(self._folder / name, self._target / name)
        self._disk.sync_dir(self._target)
        shutil.rmtree(self._folder)
        return True


class _Meter:
    """Works out rate and remaining time."""

    def __init__(self, progress: Callable[[Progress], None], ticks: Callable[[], float]) -> None:
        self._progress, self._ticks, self._start = progress, ticks, ticks()

    def show(self, what: str, done: int, size: int, lines: int) -> None:
        passed = max(self._ticks() - self._start, 1e-9)
        left = passed * (size - done) / done if done else 0.0
        self._progress(
            Progress(
                what=what,
                done=done,
                all=size,
                lines=lines,
                lines_per_s=lines / passed,
                left_s=max(left, 0.0),
            )
        )


class _Tally:
    """Counts what the lines say and remembers where each document is: the last word for it, nothing else."""

    def __init__(self, mapping: StateMap) -> None:
        self._mapping = mapping
        self._pairs = LITERATURE.pairs
        self.clear()

    def clear(self) -> None:
        self.lines = self._blank = self._broken = self._records = 0
        self._repeated = self._assumed = self._impossible = self._disagreeing = 0
        self._last: dict[str, str] = {}
        self._words: Counter[str] = Counter()
        self._states: dict[str, tuple[str, bool]] = {}
        self._moves: Counter[tuple[str, str]] = Counter()
        self._broken_places: list[Place] = []
        self._impossible_places: list[Place] = []
        self._disagreeing_places: list[Place] = []

    def take(self, reader: Reader, text: bytes, number: int) -> Entry | None:
        """Count a line; what is to be imported of it, if anything."""
        self.lines = number
        if text.isspace():
            self._blank += 1
            return None
        try:
            old = reader.line(text, number)
        except InvalidRequest as error:
            self._broken += 1
            _list(self._broken_places, number, str(error))
            return None
        entry, word = old.entry, old.word
        self._records += 1
        self._assumed += old.is_time_assumed
        word = self._count(reader, word)
        before = self._last.get(entry.doc_id)
        left = None if before is None else reader.state(before)[0]
        if old.said_before is not None and reader.state(old.said_before)[0] != left:
            self._disagreeing += 1
            entry.metadata["legacy_old_state"] = old.said_before
            sentence = (
                f"{entry.doc_id} is said to leave {old.said_before}, but was in {before or NOTHING}"
            )
            _list(self._disagreeing_places, number, sentence)
        if left == entry.state:
            self._repeated += 1
        elif (left, entry.state) not in self._pairs and not (
            left is None and entry.state == LITERATURE.initial
        ):
            self._impossible += 1
            move = (left or NOTHING, entry.state)
            self._moves[move] += 1
            _list(self._impossible_places, number, f"{entry.doc_id}: {move[0]} → {move[1]}")
        self._last[entry.doc_id] = word
        return entry

    def _count(self, reader: Reader, word: str) -> str:
        """Count the word; the one object that stands for it, so that a million documents share it."""
        if word not in self._states:
            if len(self._states) >= WORDS_LISTED_MAX:
                self._words[OTHER] += 1
                return word
            self._states[word] = reader.state(word)
        self._words[word] += 1
        return word

    def state_of(self, doc_id: str) -> str:
        word = self._last.get(doc_id)
        return NOTHING if word is None else self._mapping.state(word) or self._mapping.default

    def after(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for word, count in Counter(self._last.values()).items():
            counts[self._mapping.state(word) or self._mapping.default] += count
        return dict(sorted(counts.items()))

    def report(
        self, *, source: str, digest: str, size: int, target: str, is_dry_run: bool
    ) -> Report:
        default = self._mapping.default
        before = Counter(self._last.values()).most_common()
        listed = dict(before[:WORDS_LISTED_MAX])
        if len(before) > WORDS_LISTED_MAX:
            listed[OTHER] = sum(count for _, count in before[WORDS_LISTED_MAX:])
        return Report(
            source=source, sha256=digest, bytes=size, target=target, is_dry_run=is_dry_run,
            lines=self.lines, blank=self._blank, broken=self._broken, records=self._records,
            documents=len(self._last),
            words={w: (self._states.get(w, (default, False))[0], count) for w, count in self._words.most_common()},
            unmapped={w: n for w, n in self._words.most_common() if not self._states.get(w, (default, False))[1]},
            before=listed, after=self.after(),
            impossible=self._impossible,
            impossible_moves={f"{old} → {new}": count for (old, new), count in self._moves.most_common()},
            repeated=self._repeated, disagreeing=self._disagreeing, times_assumed=self._assumed,
            impossible_places=tuple(self._impossible_places),
            disagreeing_places=tuple(self._disagreeing_places),
            broken_places=tuple(self._broken_places),
        )  # fmt: skip


def _list(places: list[Place], line: int, sentence: str) -> None:
    if len(places) < LISTED_MAX:
        places.append(Place(line=line, sentence=sentence))


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; what is too long for a line is cut, so that it is broken and not the end of us."""
    with path.open("rb", buffering=COPY_BYTES) as file:
        while text := file.readline(LINE_BYTES_MAX):
            if len(text) == LINE_BYTES_MAX and not text.endswith(b"\n"):
                while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
                    pass
                text = b"{"
            yield text


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(COPY_BYTES):
            yield piece


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        digest = sha256()
        while piece := file.read(COPY_BYTES):
            digest.update(piece)
    return digest.hexdigest()


# Backups, and the way back


def backups(source: Path) -> list[Backup]:
    """The copies that migrations made of this file, newest first."""
    return [
        each for each in backups_in(source.parent) if each.path.name.startswith(f"{source.name}.")
    ]


def backups_in(folder: Path) -> list[Backup]:
    """All copies of old ledgers in a folder, newest first."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        named = _BACKUP.fullmatch(path.name)
        if named and path.is_file():
            day = date.fromisoformat(named["date"])
            found.append(
                Backup(path=path, day=day, sha256=named["sha256"], bytes=path.stat().st_size)
            )
    return sorted(found, key=lambda each: (each.day, each.path.name), reverse=True)


def prune_backups(
    folder: Path, *, days: int = BACKUP_DAYS, execute: bool = False, clock: Callable[[], float] = wall_clock,
    disk: Disk | None = None,
) -> list[Backup]:  # fmt: skip
    """The backups that are older than so many days; with `execute` they are removed. Nothing else ever removes one."""
    if days < 1:
        raise InvalidRequest("backups are kept for at least one day")
    last = datetime.fromtimestamp(clock(), UTC).date() - timedelta(days=days)
    old = [each for each in backups_in(folder) if each.day < last]
    if execute:
        seam = disk or Disk()
        for each in old:
            seam.unlink(each.path)
        seam.sync_dir(folder)
    return old


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What going back from a migration did, or would do."""

    source: str
    target: str
    backup: str
    aside: str
    later_records: int
    is_restored: bool
    is_executed: bool


def undo(
    source: Path, *, output: Path | None = None, in_place: bool = False, accept_loss: bool = False,
    execute: bool = True, clock: Callable[[], float] = wall_clock, disk: Disk | None = None,
) -> Undone:  # fmt: skip
    """Put the new ledger aside, whole, and see that the old file has the bytes that it was made of.

    Refused when the new ledger has records that the old one never had, unless `accept_loss`: they stay in the ledger
    that was put aside.
    """
    target = _target(source, output, in_place=in_place, is_dry_run=False)
    seam = disk or Disk()
    found, later = _made_of(source, target)
    aside = _free_aside(target, clock(), in_place=in_place)
    is_restored = not source.is_file() or _digest(source) != found.sha256
    undone = Undone(
        source=str(source), target=str(target), backup=str(found.path), aside=str(aside), later_records=later,
        is_restored=is_restored, is_executed=execute,
    )  # fmt: skip
    if not execute:
        return undone
    if later and not accept_loss:
        raise InvalidRequest(
            f"{target} has {later} records that are newer than the migration; they would stay in {aside} alone. "
            "Say that you accept this, or keep the new ledger"
        )
    if is_restored:
        _restore(seam, found, source)
    _put_aside(seam, target, aside, in_place=in_place)
    return undone


def _made_of(source: Path, target: Path) -> tuple[Backup, int]:
    """The backup that a target was made of, and how many records it got since."""
    with Ledger.open(target, read_only=True) as ledger:
        for each in backups(source):
            if _is_made_of(ledger, each.sha256):
                if _digest(each.path) != each.sha256:
                    raise LedgerError(
                        f"{each.path} is not any more what it was; nothing was changed"
                    )
                return each, _later(ledger, _source_name(each.sha256))
    raise InvalidRequest(
        f"{target} was not made of {source}, or its backup is gone; nothing was changed"
    )


def _later(ledger: Ledger, name: str) -> int:
    return sum(1 for each in ledger.records() if not each.is_control and each.source != name)


def _restore(disk: Disk, backup: Backup, source: Path) -> None:
    temporary = source.with_name(f".{source.name}.restoring.tmp")
    with suppress(FileNotFoundError):
        disk.unlink(temporary)
    fd = disk.create(temporary)
    try:
        for piece in _pieces(backup.path):
            disk.write(fd, piece)
        disk.fsync(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, source)
    disk.sync_dir(source.parent)


def _free_aside(target: Path, now: float, *, in_place: bool) -> Path:
    for number in range(1, 10_000):
        name = (
            f"{target.name}{_ASIDE}{date_label(now)}"
            if not in_place
            else f"{_ASIDE}{date_label(now)}"
        )
        path = (target if in_place else target.parent) / (
            name if number == 1 else f"{name}.{number}"
        )
        if not path.exists():
            return path
    raise LedgerError(f"{target} was undone too often today")


def _put_aside(disk: Disk, target: Path, aside: Path, *, in_place: bool) -> None:
    if not in_place:
        disk.rename(target, aside)
        disk.sync_dir(target.parent)
        return
    disk.make_dir(aside)
    names = [path.name for path in target.iterdir() if _is_of_ledger(path)]
    for name in sorted(
        names, key=lambda each: (each != MANIFEST, each == HEAD, each)
    ):  # MANIFEST first, HEAD last
        disk.rename(target / name, aside / name)
    disk.sync_dir(aside)
    disk.sync_dir(target)


def _is_of_ledger(path: Path) -> bool:
    return path.is_file() and (
        path.name in (MANIFEST, HEAD, "ARCHIVE.jsonl")
        or path.name.startswith(("delta-", "snapshot-", "checkpoint-"))
    )


def report_text(report: Report) -> str:
    """The report for people."""
    verb = "would become" if report.is_dry_run else "became"
    lines = [
        f"old ledger      {report.source} ({report.bytes:,} bytes, sha256 {report.sha256})",
        f"new ledger      {report.target}"
        + (" (made already; nothing was changed)" if report.is_done_already else ""),
        f"backup          {report.backup or 'none; this was a dry run'}",
        f"lines           {report.lines:,}: {report.records:,} used, {report.blank:,} blank, {report.broken:,} broken",
        f"documents       {report.documents:,}",
        f"without a time  {report.times_assumed:,} (they got that of the line before)",
        "",
        f"words for states, and what they {verb}",
        *(
            f"  {word:<24} {state:<12} {count:>12,}"
            for word, (state, count) in report.words.items()
        ),
        "",
        f"words that no table has: {len(report.unmapped)}",
        *(f"  {word:<24} {count:>12,}" for word, count in report.unmapped.items()),
        "",
        "documents before",
        *(f"  {word:<24} {count:>12,}" for word, count in report.before.items()),
        "documents after",
        *(f"  {state:<24} {count:>12,}" for state, count in report.after.items()),
        "",
        f"moves that the machine does not have: {report.impossible:,} (they are imported as they are)",
        *(f"  {move:<24} {count:>12,}" for move, count in report.impossible_moves.items()),
        *(f"  line {each.line}: {each.sentence}" for each in report.impossible_places),
        f"the same state once more: {report.repeated:,}",
        f"lines that name another state before than the ledger has: {report.disagreeing:,}",
        *(f"  line {each.line}: {each.sentence}" for each in report.disagreeing_places),
        f"broken lines, which only the backup keeps: {report.broken:,}",
        *(f"  line {each.line}: {each.sentence}" for each in report.broken_places),
    ]
    return "\n".join(lines) + "\n"


def write_report(report: Report, path: Path) -> tuple[Path, Path]:
    """The report as text and as JSON, side by side; whichever name was asked for, the other has the other ending."""
    is_data = path.suffix == ".json"
    text, data = (
        (path.with_suffix(".txt"), path) if is_data else (path, path.with_name(path.name + ".json"))
    )
    text.write_text(report_text(report), "utf-8")
    data.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    return text, data

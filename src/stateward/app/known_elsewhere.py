"""What is known elsewhere and missing in a history that was brought back from an earlier moment, and the way on.

Elsewhere are: newer backup sets, the mirrored ledger, checkpoints that were handed to folders, buckets, time-stamping
authorities or mailboxes, and documents that survived. Nothing here changes anything.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from stateward.app.anchors import TIMESTAMPS, anchor_destinations, bucket_at
from stateward.app.artifacts import open_artifacts
from stateward.app.backup import document_digests
from stateward.app.backup_places import (
    CHECKPOINTS,
    ERASED_FILE,
    SETS,
    BackupPlace,
    BackupSet,
    holding_more,
)
from stateward.app.databases import open_database
from stateward.core.errors import InvalidRequest, StatewardError
from stateward.proofs.checkpoints import kept_text
from stateward.settings import Settings
from stateward.settings.storage import BUCKETS
from stateward.storage.audit import AuditLog
from stateward.storage.erasure import Erasures

if TYPE_CHECKING:
    from stateward.proofs.history_checkpoint import HistoryCheckpoint

SHOWN_MAX = 50
AT_ONCE = 1000
LOOKED_AT_MAX = 20
"""Files of a bucket that are read: the first one that is a checkpoint covers most, and others may lie beside it."""
_COVERED = re.compile(r"-(\d+)-[0-9a-f]{8}\.txt")


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beyond a history, and what its records name that is not here."""

    missing: tuple[str, ...] = ()
    """Documents that records name and that are not stored."""
    unknown_documents: tuple[str, ...] = ()
    """Documents that are stored and that no record names: they came later, or were refused after they were stored."""
    ledger_ahead: int = 0
    """Transitions that the mirrored ledger has beyond the history."""
    ledger_records: tuple[str, ...] = ()
    """The records that these belong to; at most the first fifty."""
    checkpoint: str | None = None
    """Where the checkpoint is that was handed over and that covers more than the history has."""
    checkpoint_ahead: int = 0
    """How many transitions it covers beyond it."""
    acts_ahead: int = 0
    """How many entries of the audit log it covers beyond it."""
    checkpoint_here: str | None = None
    """The file with the checkpoint that covers most, of those that cover no more than the history: it must fit."""
    newer_sets: tuple[str, ...] = ()
    """Backup sets of the same place that hold more transitions."""
    erased_since: tuple[str, ...] = ()
    """Records that are whole here, and of which something was erased by the newest set, with the kinds."""
    unread: tuple[str, ...] = ()
    """Places that could not be asked, and why."""

    @property
    def is_behind(self) -> bool:
        """Whether anything is missing here, or cannot be known."""
        return bool(
            self.missing
            or self.ledger_ahead
            or self.checkpoint is not None
            or self.newer_sets
            or self.erased_since
            or self.unread
        )


def compare_elsewhere(
    settings: Settings,
    *,
    place: BackupPlace | None = None,
    checkpoints: Sequence[Path] = (),
) -> Elsewhere:
    """Compare the store of these settings with all that is known elsewhere.

    `place` is asked for sets that hold more, and for checkpoints; `checkpoints` are files that someone was given.
    """
    unread: list[str] = []
    found = Checkpoints(unread)
    found.look_at(checkpoints)
    if settings.store_path is not None and not settings.store_path.exists():
        raise InvalidRequest(f"there is no store at {settings.store_path} to compare")
    with closing(open_database(settings)) as database:
        named = set(document_digests(database))
        ((newest,),) = database.rows("SELECT coalesce(max(seq), 0) FROM transitions")
        ((count,),) = database.rows("SELECT coalesce(sum(count), 0) FROM lanes")
        here = Covered(int(str(count)), AuditLog(database).head().count)
        sets = _sets_of(place, unread)
        erased = list(_erased_since(place, sets, Erasures(database), unread))
    stored = set(open_artifacts(settings).digests())
    ahead, records = _ledger_ahead(settings, int(str(newest)))
    found.look_through(settings, () if place is None else (place.location,))
    beyond = Covered(*(max(0, a - b) for a, b in zip(found.covered, here, strict=True)))
    return Elsewhere(
        missing=tuple(sorted(named - stored)),
        unknown_documents=tuple(sorted(stored - named)),
        ledger_ahead=ahead,
        ledger_records=tuple(records),
        checkpoint=found.newest if any(beyond) else None,
        checkpoint_ahead=beyond.transitions,
        acts_ahead=beyond.acts,
        checkpoint_here=found.newest_within(here),
        newer_sets=tuple(holding_more(sets, here.transitions)),
        erased_since=tuple(erased),
        unread=tuple(unread),
    )


class Covered(NamedTuple):
    """How many transitions and entries of the audit log there are, or a checkpoint covers."""

    transitions: int
    acts: int


class Checkpoints:
    """The checkpoint that covers most, of all that are looked at."""

    def __init__(self, unread: list[str]) -> None:
        self.newest: str | None = None
        self.covered = Covered(0, 0)
        self._files: dict[str, Covered] = {}
        self._unread = unread

    def newest_within(self, here: Covered) -> str | None:
        """The file with the checkpoint that covers most, and nothing beyond this."""
        own = {
            where: covered
            for where, covered in self._files.items()
            if covered.transitions <= here.transitions and covered.acts <= here.acts
        }
        return max(own, key=lambda each: own[each], default=None)

    def look_at(self, files: Iterable[Path]) -> None:
        """Files that a person names: they must be checkpoints."""
        for file in files:
            self._take_file(file)

    def look_through(self, settings: Settings, places: Iterable[str]) -> None:
        """All destinations of the settings that can be read, and places of backups."""
        own = [f"{place.rstrip('/')}/{CHECKPOINTS}" for place in places]
        for where in dict.fromkeys((*anchor_destinations(settings), *own)):
            if where.partition("://")[0] in BUCKETS:
                self._look_into_bucket(settings, where)
            else:
                self._look_into_folder(Path(where))
        self._look_into_folder(settings.data_path / TIMESTAMPS)

    def _look_into_folder(self, folder: Path) -> None:
        for file in folder.rglob("*.txt") if folder.is_dir() else ():
            try:
                self._take_file(file)
            except (InvalidRequest, OSError):
                continue  # another file, or a damaged one: `verify --checkpoint` says what is wrong with it

    def _look_into_bucket(self, settings: Settings, url: str) -> None:
        """Read the one whose name says that it covers most; a few more where that is none."""
        try:
            bucket = bucket_at(url, settings)
            names = sorted(bucket.names(""), key=_covered_by_name, reverse=True)
            for name in names[:LOOKED_AT_MAX]:
                try:
                    text = bucket.read_named(name).decode("utf-8", "replace")
                    self._take(f"{url.rstrip('/')}/{name}", covered_by(text))
                except InvalidRequest:
                    continue
                return
        except StatewardError as error:
            self._unread.append(f"{url}: {error}")

    def _take_file(self, file: Path) -> None:
        self._files[str(file)] = read_checkpoint_file(file)
        self._take(str(file), self._files[str(file)])

    def _take(self, where: str, covered: Covered) -> None:
        if covered > self.covered:
            self.newest, self.covered = where, covered


def kept_here(found: Elsewhere) -> "HistoryCheckpoint | None":
    """The checkpoint that the history must fit: its set may have been rewritten as a whole."""
    from stateward.proofs.history_checkpoint import read_checkpoint

    if found.checkpoint_here is None:
        return None
    return read_checkpoint(kept_text(Path(found.checkpoint_here).read_bytes()))


def read_checkpoint_file(path: Path) -> Covered:
    """What the checkpoint in a file covers; the file may be a whole mail as it was saved."""
    return covered_by(kept_text(path.read_bytes()))


def covered_by(text: str) -> Covered:
    """What a checkpoint covers; `InvalidRequest` if it is none."""
    from stateward.proofs.history_checkpoint import read_checkpoint

    read = read_checkpoint(text)
    return Covered(read.count, 0 if read.audit is None else read.audit[0])


def _covered_by_name(name: str) -> int:
    found = _COVERED.search(name)
    return int(found[1]) if found else -1


def _sets_of(place: BackupPlace | None, unread: list[str]) -> list[BackupSet]:
    if place is None:
        return []
    try:
        return place.sets()
    except (StatewardError, OSError) as error:
        unread.append(f"{place.location}: {error}")
        return []


def _erased_since(
    place: BackupPlace | None, sets: Sequence[BackupSet], here: Erasures, unread: list[str]
) -> Iterator[str]:
    """What the newest set says was erased, and is here: an older copy would bring it back without a word."""
    if place is None or not sets:
        return
    where = f"{place.location}/{SETS}/{sets[-1].name}/{ERASED_FILE}"
    try:
        content, digest = place.erased(sets[-1].name), sets[-1].files.get(ERASED_FILE)
    except OSError as error:
        unread.append(f"{where}: what was erased since is not known ({error})")
        return
    if digest not in (None, sha256(content).hexdigest()):
        unread.append(f"{where}: what was erased since is not known, for it was changed")
        return
    fields = dict(line.split(" ", 1) for line in content.decode().splitlines())
    for start in range(0, len(fields), AT_ONCE):
        part = sorted(fields)[start : start + AT_ONCE]
        yield from (f"{record_id} {fields[record_id]}" for record_id in here.not_erased(part))


def _ledger_ahead(settings: Settings, newest: int) -> tuple[int, list[str]]:
    from stateward.ledger import Ledger

    mirror = settings.ledger.mirror
    if mirror is None or not Path(mirror).is_dir() or not any(Path(mirror).iterdir()):
        return 0, []
    ahead = 0
    records: dict[str, None] = {}
    with Ledger.open(Path(mirror), read_only=True, machine=None) as ledger:
        for line in ledger.records():
            if (line.source_seq or 0) > newest:
                ahead += 1
                records[line.doc_id] = None
    return ahead, list(records)[:SHOWN_MAX]


def place_of(digest: str, settings: Settings) -> str:
    """Where a document is stored: a file, or an object."""
    own = settings.artifacts
    folder = str(settings.data_path / "artifacts") if own.is_folder else own.url.rstrip("/")
    return f"{folder}/{digest[:2]}/{digest}"


def _submit_again(place: str, settings: Settings) -> str:
    step = "submit the documents again that no record names, if they were not refused: "
    if settings.artifacts.is_folder:
        return f"{step}stateward submit {place}"
    return (
        f"{step}fetch {place} into a file (aws s3 cp, gcloud storage cp, az storage blob download), and then "
        "stateward submit FILE"
    )


def way_on(found: Elsewhere, settings: Settings, *, place: str | None) -> list[str]:
    """What a person does next, in this order; nothing where all is here."""
    steps = []
    if found.newer_sets:
        steps.append(
            f"a newer set holds more: stateward --data OTHER-FOLDER restore {place}/sets/{found.newer_sets[-1]}"
        )
    if found.erased_since:
        ids = [each.partition(" ")[0] for each in found.erased_since]
        rest = len(ids) - SHOWN_MAX
        steps.append(
            "erase again what was erased on request (rules of retention delete theirs again by themselves): "
            f"stateward erase {' '.join(ids[:SHOWN_MAX])} --reason 'again after a restore' --yes"
            + (f"; then stateward restore --compare names the other {rest}" if rest > 0 else "")
        )
    if found.unread:
        steps.append(
            "see that these places can be read, and compare again: stateward restore --compare"
        )
    if found.missing:
        steps.append(
            "bring the missing documents back from a later set or another copy: a record whose document is not here "
            "can be read, not processed"
        )
    if found.ledger_ahead:
        steps.append(
            "look at what only the ledger knows: stateward ledger history "
            f"{settings.ledger.mirror} {found.ledger_records[0]}"
        )
    if found.unknown_documents:
        steps.append(_submit_again(place_of(found.unknown_documents[0], settings), settings))
    if found.ledger_ahead:
        steps.append(
            "name a new folder in ledger.mirror: that ledger is not continued by this history"
        )
    if found.checkpoint is not None:
        steps.append(
            "tell those who have later checkpoints that the history was brought back to an earlier moment: what grows "
            "from now on does not fit them"
        )
    if steps:
        steps.append(f"back up from here: stateward backup {place or 'DIR'}")
    return steps

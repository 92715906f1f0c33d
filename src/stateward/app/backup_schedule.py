"""Backups that the service makes by itself, in a thread beside its loop: a long copy must not hold up any record."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from stateward import telemetry
from stateward.app.backup import Backup
from stateward.app.backup_places import BackupPlace, BackupSet, holding_more, place_at
from stateward.app.databases import open_database
from stateward.app.repeating import seconds_left
from stateward.core.errors import StatewardError
from stateward.core.model import Micros, plural
from stateward.settings import Settings
from stateward.storage.last_backup import last_backup

HOUR_S = 3600.0
RETRY_S = 900.0  # after a failure: often enough that a short outage costs no day, seldom enough for the log


@contextmanager
def scheduled_backups(
    settings: Settings, config: Path | None, *, clock: Callable[[], Micros]
) -> Iterator[None]:
    """Make sets as often as the settings say, as long as this lasts; nothing where they name no folder."""
    if settings.backup.folder is None:
        yield
        return
    ending = Event()
    thread = Thread(target=_run, args=(settings, config, clock, ending), name="backup", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()  # a set that is being made stays unfinished; the next one removes it


def _run(
    settings: Settings, config: Path | None, clock: Callable[[], Micros], ending: Event
) -> None:
    wait_s = due_in_s(settings, now=clock())
    while not ending.wait(max(0.0, wait_s)):
        try:
            make_scheduled(settings, config, clock=clock)
            wait_s = due_in_s(settings, now=clock())
        except (StatewardError, OSError) as error:
            telemetry.log("backup").error(f"no backup could be made: {error}", reason=str(error))
            wait_s = RETRY_S


def due_in_s(settings: Settings, *, now: Micros) -> float:
    """How long until the next set is due; not above 0 if it is due now."""
    last = last_backup(settings.data_path)
    if last is None or last.folder != _place(settings).location:
        return 0.0
    return seconds_left(last.at, every_s=settings.backup.every_hours * HOUR_S, now=now)


def make_scheduled(settings: Settings, config: Path | None, *, clock: Callable[[], Micros]) -> None:
    """One set in the folder of the settings, and only as many as they want there."""
    place = _place(settings)
    # Its own connection: the loop uses its one all the time. It is only read, which a full disk does not forbid.
    database = open_database(settings, is_read_only=True)
    try:
        made = Backup(settings, place, database=database, config=config, clock=clock).make()
    finally:
        database.close()
    log = telemetry.log("backup")
    if made.missing:
        missing = plural(len(made.missing), "document")
        log.error(f"{missing} could not be put into the backup", count=len(made.missing))
    gone, more = _remove_old(place, made, keep=settings.backup.keep)
    log.info("backup made", name=made.name, new_documents=made.new_documents, removed=len(gone))
    if more:
        log.warning(f"{place.location} has sets that hold more than this store: {', '.join(more)}")


def _remove_old(place: BackupPlace, made: BackupSet, *, keep: int) -> tuple[list[str], list[str]]:
    """The names of the sets that are gone, and of those that hold more than this store.

    The set is there also where this fails: to make it once more in a quarter of an hour would fill the disk.
    """
    try:
        return place.remove_old(keep=keep), holding_more(place.sets(), made.transitions)
    except (StatewardError, OSError) as error:
        sentence = f"the backup {made.name} is complete, but no older set was removed: {error}"
        telemetry.log("backup").error(sentence, reason=str(error))
        return [], []


def _place(settings: Settings) -> BackupPlace:
    return place_at(settings.backup.folder or "", settings)

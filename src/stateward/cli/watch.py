"""`stateward watch`: files that appear in a folder become records, each once.

A file is taken when it has rested unchanged for a while, so that one still being written is left alone. Which files
were taken stands in a small file in the data folder, by place, size and time of change, so that a restart takes
nothing twice; and if that were lost, the same bytes would still give the record that is there.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import hand_over, write
from stateward.cli.up import handling_stops

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.engine.node import Node
    from stateward.settings import WatchSettings

TAKEN = "watched.json"
TAKEN_MAX = 100_000
# Names that browsers, office programs and copying tools give to what is not finished.
UNFINISHED = (".part", ".partial", ".crdownload", ".download", ".tmp", ".swp", ".filepart", ".lock")
MOVES_MAX = 1000

Sight = tuple[int, int, int]


@command(
    "watch",
    "stateward watch inbox",
    "stateward watch inbox --source-type auto --once",
    is_listing=True,
)
@click.argument("folder", metavar="DIR", type=A_FILE)
@option(
    "--machine NAME",
    "Machine that processes it; otherwise the content decides.",
)
@option("--source-type TYPE", "What the files are, one of the machine's source types, or auto.")
@flag_option("--once", "Submit what is there, do the work, then end.")
@flag_option("--no-work", "Only submit; workers elsewhere do the work.")
@pass_context
def watch(
    context: CliContext,
    *,
    folder: Path,
    machine: str | None,
    source_type: str | None,
    once: bool,
    no_work: bool,
) -> Exit:
    """Submit every file that appears in a folder, once.

    Files that are still being written and names that begin with a dot are ignored. Of a zip archive that no pipeline
    reads as it is, each file is a document. Submitted files stay where they are, or move to another folder: see
    watch.after. Ctrl-C ends it; after a restart it continues where it was.
    """
    from stateward.core.errors import InvalidRequest
    from stateward.definition.plugin import AUTO

    if not folder.is_dir():
        raise InvalidRequest(f"there is no folder {str(folder)!r} to watch")
    with context.local_app() as app:
        machine = AUTO if machine is None else app.registry.named(machine).name
        own = app.settings.watch
        inbox = Inbox(folder, app, own, machine=machine, source_type=source_type, context=context)
        with ExitStack() as stack:
            stopped = stack.enter_context(_stopping())
            is_working = not no_work and not app.records.has_worker()
            node = stack.enter_context(app.node()) if is_working else None
            while not stopped:
                inbox.look()
                if once and not inbox.is_waiting and (node is None or inbox.is_worked_off()):
                    break
                _pass(node, own.poll_seconds, stopped)
    if context.json:
        context.emit_rows(inbox.rows)
    return inbox.worst


def _pass(node: "Node | None", seconds: float, stopped: list[int]) -> None:
    """Let the time to the next look go by: at work, if this process works, else asleep."""
    until = time.monotonic() + seconds
    if node is None:
        time.sleep(seconds)
    else:
        node.work_while(lambda: time.monotonic() < until and not stopped, step_s=seconds)


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """A list that is empty until a signal asks to stop; the second time ends at once."""
    stopped: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(number)

    with handling_stops(hear):
        yield stopped


class Inbox:
    """A folder, and what is known of the files in it."""

    def __init__(
        self,
        folder: Path,
        app: "App",
        own: "WatchSettings",
        *,
        machine: str,
        source_type: str | None,
        context: CliContext,
    ) -> None:
        self._folder = folder.resolve()
        self._app = app
        self._own = own
        self._machine = machine
        self._labels = {"source_type": source_type} if source_type else {}
        self._context = context
        self._seen: dict[str, tuple[Sight, float]] = {}
        self._book = app.settings.data_path / TAKEN
        self._taken = _read(self._book)
        self._opened: list[str] = []
        self.rows: list[dict[str, object]] = []
        self.worst = Exit.OK

    @property
    def is_waiting(self) -> bool:
        """Whether a file is there that has not settled yet."""
        return bool(self._seen)

    def is_worked_off(self) -> bool:
        """Whether all that was taken has ended or rests."""
        return all(self._app.records.is_at_rest(self._app.record(each)) for each in self._opened)

    def look(self) -> None:
        """Take every file that is new and has settled."""
        now = time.monotonic()
        present: dict[str, tuple[Sight, float]] = {}
        for path in self._files():
            with suppress(OSError):
                sight = _sight(path)
                key = str(path)
                if self._taken.get(key) == list(sight):
                    continue
                before = self._seen.get(key)
                since = before[1] if before is not None and before[0] == sight else now
                if now - since >= self._own.settle_seconds:
                    self._take(path, sight)
                else:
                    present[key] = (sight, since)
        self._seen = present

    def _files(self) -> Iterator[Path]:
        for entry in sorted(self._folder.iterdir()):
            name = entry.name
            is_finished = not name.startswith((".", "~$")) and not name.endswith(UNFINISHED)
            if is_finished and entry.is_file() and not entry.is_symlink():
                yield entry

    def _take(self, path: Path, sight: Sight) -> None:
        from stateward.blobs.archives import is_archive
        from stateward.core.errors import StatewardError

        is_taken = True
        if is_archive(path) and not self._app.submissions.is_known(
            path, machine=self._machine, source_type=self._labels.get("source_type")
        ):
            try:
                is_taken = self._take_archive(path)
            except StatewardError as error:
                is_taken = self._refuse(path.name, error)
        else:
            is_taken = self._submit(path.name, path, self._labels)
        self._done(path, sight, self._own.done if is_taken else self._own.refused)

    def _take_archive(self, path: Path) -> bool:
        """Each file of an archive is a document; whether all of them were taken."""
        from stateward.blobs.archives import LABEL, members

        labels = {**self._labels, LABEL: path.name}
        taken = [
            self._submit(f"{path.name}/{member.name}", member.pieces, labels, name=member.name)
            for member in members(path)
        ]
        return all(taken)

    def _submit(
        self,
        shown: str,
        source: Path | Iterator[bytes],
        labels: dict[str, str],
        *,
        name: str | None = None,
    ) -> bool:
        """Whether a document was taken; that the store is full or away is no fault of the document."""
        from stateward.core.errors import StatewardError, StoreError

        try:
            opened = self._app.submit(source, machine=self._machine, name=name, labels=labels)
        except StoreError:
            raise
        except StatewardError as error:
            return self._refuse(shown, error)
        outcome = "duplicate" if opened.is_duplicate else "new"
        self._opened.append(opened.record.id)
        self._tell({"file": shown, "outcome": outcome, "id": opened.record.id})
        return True

    def _refuse(self, shown: str, error: Exception) -> bool:
        self.worst = Exit.REFUSED
        self._context.say(f"refused {shown}: {error}")
        self._tell({"file": shown, "outcome": "refused", "id": None})
        return False

    def _tell(self, row: dict[str, object]) -> None:
        if self._context.json:
            self.rows.append(row)
        elif self._context.jsonl:
            self._context.emit_rows([row])
        else:
            write(f"{row['outcome']!s:<9}  {row['id'] or '-'}  {row['file']}")
        hand_over()

    def _done(self, path: Path, sight: Sight, place: str) -> None:
        """Remember a file, or move it away; the record is durable before either."""
        if self._own.after == "move":
            with suppress(OSError):
                _move(path, self._folder / place)
                return
            self._context.say(
                f"{path.name} could not be moved to {place}; it is remembered instead"
            )
        self._taken[str(path)] = list(sight)
        _write(self._book, self._taken)


def _sight(path: Path) -> Sight:
    """What a file looks like from outside; another sight is another file."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _move(path: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(MOVES_MAX):
        target = folder / (f"{path.stem}-{number}{path.suffix}" if number else path.name)
        if not target.exists():
            path.rename(target)
            return
    raise OSError(f"{folder} holds {MOVES_MAX} files of this name")


def _read(book: Path) -> dict[str, list[int]]:
    """The files that were taken; nothing if the book is not there or is torn: bytes tell duplicates too."""
    try:
        found = json.loads(book.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(book: Path, taken: dict[str, list[int]]) -> None:
    """The book is old or new, never half."""
    from stateward.app.backup_places import write_private

    while len(taken) > TAKEN_MAX:
        del taken[next(iter(taken))]
    write_private(book, json.dumps(taken).encode())

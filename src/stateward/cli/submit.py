"""`stateward submit`: documents in, one record each. A file that is refused never stops the others."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from stateward.cli.commands import command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit, problem
from stateward.cli.output import count_text, plural, write, write_table

if TYPE_CHECKING:
    from stateward.cli.apps import AppProtocol
    from stateward.schemas import Record, RecordOpened

STDIN = "-"
PIECE_BYTES = 1 << 20
WAIT_DEFAULT_S = 300.0
WAIT_MAX_S = 30 * 86_400.0
FILES_SAID_MIN = 20
WATCH_STEP_S = 1.0
BAR_CHARS = 30
# Of several records, the worst decides how the command ends.
SEVERITY = (Exit.OK, Exit.FLAGGED, Exit.FOUND_PROBLEMS, Exit.TIMED_OUT)


def _pair(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    labels = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{value!r} is not a label: write it as key=value")
        labels[key.strip()] = text
    return labels


@command(
    "submit",
    "stateward submit january.csv february.csv",
    "stateward submit --recursive inbox/ --source-type auto --label client=42",
    "stateward submit card.csv --priority vip_customer --wait --timeout 60",
    "curl -s https://files.example/export | stateward submit - --name export.csv",
    is_listing=True,
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@option(
    "--machine NAME",
    "Machine that processes it; otherwise the content decides.",
)
@option(
    "--source-type TYPE",
    "What it is: one of the machine's source types, or auto. Searchable as source:TYPE.",
)
@option(
    "--label KEY=VALUE",
    "A label. Searchable as meta.KEY:VALUE.",
    to="labels",
    multiple=True,
    callback=_pair,
)
@option("--priority NAME|1-10", "Priority; 10 goes first.", default="5", show_default=True)
@option("--priority-reason TEXT", "Why it has this priority; shown with the record.")
@option("--name TEXT", "Name of the document, in place of its file name; for one file only.")
@flag_option("--recursive", "Submit all files below a folder, except names that begin with a dot.")
@option("--reason TEXT", "Why; kept in the history.")
@flag_option(
    "--wait", "Wait until each document has ended, has failed or is in review.", to="is_waiting"
)
@option(
    "--timeout SECONDS",
    "How long --wait waits, for all documents together.",
    to="timeout_s",
    type=click.FloatRange(min=0, max=WAIT_MAX_S),
    default=WAIT_DEFAULT_S,
    show_default=True,
)
@pass_context
def submit(
    context: CliContext,
    *,
    files: tuple[str, ...],
    machine: str | None,
    source_type: str | None,
    labels: dict[str, str],
    priority: str,
    priority_reason: str | None,
    name: str | None,
    recursive: bool,
    reason: str | None,
    is_waiting: bool,
    timeout_s: float,
) -> Exit:
    """Submit documents, one record each.

    FILE may be - for standard input. The content decides which machine processes a document, unless --machine or
    --source-type do. Of a zip archive that no pipeline reads as it is, each file is a document. The same bytes again
    give the record that exists.

    Prints for each file whether it is new, a duplicate or refused; a document is refused without a label that its kind
    needs. A refused file does not stop the others, but changes the exit code.

    With --wait, waits for the results and prints them as a table. If no worker is running (stateward up), this command
    does the work itself.
    """
    if name is not None and len(files) > 1:
        raise click.UsageError("--name names one document; submit the files one by one")
    if source_type:
        labels = {**labels, "source_type": source_type}
    if priority_reason:
        labels = {**labels, "priority_reason": priority_reason}
    with context.app() as app:
        machine = app.check_submission(machine, priority, source_type)
        sent = _Sending(context, app, machine=machine, source_type=source_type)
        for file in _walk(files, sent, is_recursive=recursive):
            sent.submit(
                file, machine=machine, name=name, labels=labels, priority=priority, reason=reason
            )
        code = sent.wait(timeout_s) if is_waiting else Exit.OK
        sent.report()
        if not is_waiting:
            sent.say_if_no_one_works()
        return sent.worst or code


def _walk(files: Sequence[str], sent: "_Sending", *, is_recursive: bool) -> Iterator[str]:
    for file in files:
        path = Path(file)
        if file != STDIN and not path.exists():
            sent.refuse(file, "there is no such file")
        elif file == STDIN or not path.is_dir():
            yield file
        elif is_recursive:
            yield from _below(path)
        else:
            sent.refuse(file, "it is a folder; add --recursive to take all files below it")


def _below(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not is_hidden:
            yield str(path)


class _Sending:
    """The files of one command: what became of each."""

    def __init__(
        self, context: CliContext, app: "AppProtocol", *, machine: str, source_type: str | None
    ) -> None:
        self._context = context
        self._app = app
        self._machine = machine
        self._given_type = source_type
        self._rows: list[dict[str, object]] = []
        self._records: list[Record] = []
        self.worst: Exit = Exit.OK

    def submit(
        self,
        file: str,
        *,
        machine: str,
        name: str | None,
        labels: dict[str, str],
        priority: str,
        reason: str | None,
    ) -> None:
        from stateward.core.errors import StatewardError

        if file == STDIN or not self._is_opened(Path(file)):
            source = _pieces(sys.stdin.buffer) if file == STDIN else Path(file)
            self._submit(file, source, machine, name, labels, priority, reason)
            return
        from stateward.blobs.archives import LABEL, members

        try:
            for member in members(Path(file)):
                own = {**labels, LABEL: Path(file).name}
                shown = f"{file}/{member.name}"
                self._submit(shown, member.pieces, machine, member.name, own, priority, reason)
        except StatewardError as error:
            self.refuse(file, str(error), code=problem(error).code)

    def _is_opened(self, path: Path) -> bool:
        """Whether a file is an archive that no pipeline reads as it is: then each file in it is a document."""
        from stateward.blobs.archives import is_archive

        return is_archive(path) and not self._app.is_known(
            path, machine=self._machine, source_type=self._given_type
        )

    def _submit(
        self,
        file: str,
        source: Path | Iterator[bytes],
        machine: str,
        name: str | None,
        labels: dict[str, str],
        priority: str,
        reason: str | None,
    ) -> None:
        from stateward.core.errors import StatewardError, StoreError

        try:
            opened = self._app.submit_document(
                source, machine=machine, name=name, labels=labels, priority=priority, reason=reason
            )
        except StoreError:  # it would refuse the rest as well
            if self._rows or self._context.is_for_programs:
                self.report()
            raise
        except StatewardError as error:
            self.refuse(file, str(error), code=problem(error).code)
        else:
            self._note(file, opened)
        if len(self._rows) >= FILES_SAID_MIN:
            self._context.progress(f"{plural(len(self._rows), 'file')} so far: {_shown_name(file)}")

    def refuse(self, file: str, sentence: str, *, code: str = "invalid_request") -> None:
        self.worst = Exit.REFUSED
        error = {"code": code, "message": sentence}
        self._rows.append(_row(file, "refused", error=error))
        self._context.say(f"refused {_shown_name(file)}: {sentence}")

    def _note(self, file: str, opened: "RecordOpened") -> None:
        outcome = "duplicate" if opened.is_duplicate else "new"
        row = _row(file, outcome, record=opened.record)
        self._rows.append(
            row | ({"edition": opened.edition, "note": opened.note} if opened.note else {})
        )
        self._records.append(opened.record)
        if not self._context.is_for_programs:
            write(f"{outcome:<9}  {opened.record.id}  {_shown_name(file)}")
            self._say_what_it_is(file, opened.record)
        if opened.note:
            self._context.say(f"{_shown_name(file)}: {opened.note}")
        if opened.is_duplicate and opened.record.error_code is not None:
            known = opened.record.id
            self._context.say(
                f"the same bytes failed before; to try them again: stateward retry {known}"
            )

    def _say_what_it_is(self, file: str, record: "Record") -> None:
        """Where the content decided, say what it decided."""
        from stateward.definition.plugin import AUTO

        found = record.labels.get("source_type")
        if self._machine == AUTO and found not in (None, AUTO, self._given_type):
            self._context.say(f"{_shown_name(file)} is taken for {found}, by {record.machine}")

    def say_if_no_one_works(self) -> None:
        """Say so where no worker is alive for the first document: nothing would ever come of it."""
        first = next((record for record in self._records if not record.is_at_rest), None)
        if first is not None and (why := self._app.explain(first.id)).code == "no_worker":
            self._context.say(f"{why.sentence}; {why.advice}, or submit with --wait")

    def wait(self, timeout_s: float) -> Exit:
        """Wait for all of them; what is said last is what they ended as."""
        import time

        code = Exit.OK
        waiting = _Waiting(self._context, self._app, [record.id for record in self._records])
        waiting.wait(deadline=time.monotonic() + timeout_s)
        for record in self._records:
            code = max(code, self._judge(self._app.record(record.id)), key=SEVERITY.index)
        if not self._context.is_for_programs and self._records:
            write_table(
                ("file", "status", "result", "notes"), [_summary_line(row) for row in self._rows]
            )
        return code

    def _judge(self, record: "Record") -> Exit:
        for row in self._rows:
            if row["id"] == record.id:
                row.update(status=record.status, version=record.version, **self._result(record))
        if not record.is_at_rest:
            why = self._app.explain(record.id)
            self._context.say(f"{record.id} is still in {record.status}: {why.sentence}")
            return Exit.TIMED_OUT
        if record.error_code is not None:
            self._context.say(f"{record.id} failed: {record.error_code}: {record.error_message}")
            return Exit.FOUND_PROBLEMS
        why = self._app.explain(record.id)
        is_finished = why.code == "ended"
        self._context.say(
            f"{record.id} finished: {record.status}"
            if is_finished
            else f"{record.id} is in {record.status}: {why.sentence}"
        )
        if record.flags and record.flag_decision is None:
            codes = ", ".join(record.flags)
            self._context.say(f"{record.id} is flagged as wrong or incomplete: {codes}")
            return Exit.FLAGGED
        return Exit.OK

    def _result(self, record: "Record") -> dict[str, object]:
        """What came of a record, as far as it got: its counts, its error, its notes."""
        counts = {key: value for key, value in record.exposed.items() if key.endswith("_count")}
        facts = {key: value for key, value in record.exposed.items() if _is_fact(key, value)}
        error = {"code": record.error_code, "message": record.error_message}
        return {
            **counts,
            "facts": facts,
            "notes": record.notes or [],
            "flags": record.flags,
            "error": error if record.error_code else None,
        }

    def report(self) -> None:
        if self._context.is_for_programs:
            self._context.emit_rows(self._rows)
            return
        outcomes = [str(row["outcome"]) for row in self._rows]
        parts = {"new": "new", "duplicate": "duplicate", "refused": "refused"}
        counts = [
            f"{outcomes.count(key)} {words}" for key, words in parts.items() if key in outcomes
        ]
        self._context.say(
            f"{plural(len(outcomes), 'file')}: {', '.join(counts)}"
            if counts
            else "there was no file"
        )


class _Waiting:
    """Watching records to their end; doing the work, if no other process does."""

    def __init__(self, context: CliContext, app: "AppProtocol", ids: Sequence[str]) -> None:
        self._context = context
        self._app = app
        self._left = dict.fromkeys(ids)
        self._count = len(self._left)

    def wait(self, *, deadline: float) -> None:
        import time

        def is_wanted() -> bool:
            return self._is_any_left() and time.monotonic() < deadline

        if not is_wanted():
            return
        if self._app.work_while(is_wanted):
            return
        while is_wanted():
            first = next(iter(self._left))
            self._app.wait(
                first, timeout_s=min(WATCH_STEP_S, max(0.0, deadline - time.monotonic()))
            )

    def _is_any_left(self) -> bool:
        for record_id in list(self._left):
            if not self._app.record(record_id).is_at_rest:
                break
            del self._left[record_id]
        done = self._count - len(self._left)
        full = BAR_CHARS * done // max(1, self._count)
        bar = "#" * full + "." * (BAR_CHARS - full)
        self._context.progress(f"[{bar}] {done} of {self._count} done")
        return bool(self._left)


def _summary_line(row: dict[str, object]) -> tuple[object, ...]:
    from stateward.core.view import note_codes

    error, notes = row["error"], row.get("notes")
    counts = [count_text(key, row[key]) for key in row if key.endswith("_count")]
    facts = row.get("facts")
    summary = ", ".join(str(value) for value in facts.values()) if isinstance(facts, dict) else ""
    result = error["code"] if isinstance(error, dict) else (counts[-1] if counts else summary)
    return row["file"], row["status"] or row["outcome"], result, note_codes(notes)


def _is_fact(key: str, value: object) -> bool:
    """Whether a value that a record exposes says what was found: no reference, and no count, which has a place."""
    return isinstance(value, str | int | float) and not key.endswith(("_ref", "_count"))


def _row(
    file: str, outcome: str, *, record: "Record | None" = None, error: object = None
) -> dict[str, object]:
    keys = ("id", "machine", "status", "version")
    known = {key: None if record is None else getattr(record, key) for key in keys}
    return {"file": _shown_name(file), "outcome": outcome, **known, "error": error}


def _shown_name(file: str) -> str:
    """A name of bytes that are no text, as text."""
    return file.encode("utf-8", "backslashreplace").decode()


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    while piece := stream.read(PIECE_BYTES):
        yield piece

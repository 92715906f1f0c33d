"""`stateward export items`: the items of many records, by query and period, as one file for other programs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from stateward.cli.commands import command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.extensions import offered_exports, view_of
from stateward.cli.output import plural, replacing, write_lines

if TYPE_CHECKING:
    from stateward.cli.apps import AppProtocol
    from stateward.core.model import Fields
    from stateward.definition.display import ItemView
    from stateward.definition.plugin import Export
    from stateward.schemas import Record

PLAIN = ("csv", "jsonl")
FILES = ("xlsx", "parquet")  # which are no text


class Period(NamedTuple):
    """Days, both included; None leaves that side open."""

    first: str | None
    last: str | None

    def covers(self, day: str) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)

    @property
    def is_open(self) -> bool:
        return self.first is None and self.last is None


class DayParameter(click.ParamType[str]):
    """A day, as in 2026-01-31."""

    name = "date"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            self.fail(f"{value!r} is no day; write it as 2026-01-31", param, ctx)


@command(
    "items",
    "stateward export items --from 2026-01-01 --to 2026-12-31 --format xlsx --out 2026.xlsx",
    "stateward export items --query 'machine:invoices' --format csv",
    "stateward export items UL_01h2k3 UL_01h2k4 --format csv --out two.csv",
    is_reading=True,
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@option("--query QUERY", "All records that match this query, as in `stateward list`.")
@option("--from DAY", "Items from this day on.", to="first", type=DayParameter())
@option("--to DAY", "Items up to this day.", to="last", type=DayParameter())
@option("--stage NAME", "Of this stage; otherwise of the last one with items.")
@option(
    "--format NAME",
    "csv, jsonl, xlsx, parquet, or a format that a pipeline offers.",
    to="form",
    default="csv",
    show_default=True,
)
@option(
    "--out FILE",
    "A new file; otherwise standard output.",
    to="path",
    type=click.Path(path_type=Path, dir_okay=False),
)
@flag_option("--overwrite", "Replace a file that exists.")
@flag_option(
    "--with-duplicates", "Write every item of every record, even if several records contain it."
)
@pass_context
def export_items(
    context: CliContext,
    *,
    ids: tuple[str, ...],
    query: str | None,
    first: str | None,
    last: str | None,
    stage: str | None,
    form: str,
    path: Path | None,
    overwrite: bool,
    with_duplicates: bool,
) -> Exit:
    """Write the items of many records as one file.

    Without ids or a query, of all records that have ended. An item that several records contain is written once.
    Results that a person rejected are left out; flagged ones are included with their codes, and the exit code is then
    9.
    """
    export = _format(form)
    if ids and query:
        raise click.UsageError("name records or give --query, not both")
    if form in FILES and path is None:
        raise click.UsageError(f"{form} is not a text format: give the file with --out")
    if path is not None and path.exists() and not overwrite:
        raise click.UsageError(f"{path} exists; add --overwrite to replace it")
    with context.app() as app:
        chosen = [app.record(each) for each in ids] if ids else app.find(query or "")
        gathered = _Gathered(context, app, Period(first, last), stage)
        rows = gathered.rows(chosen, is_unique=not with_duplicates)
        if context.is_for_programs and path is None:
            context.emit_rows(rows)
        else:
            _write(export, form, rows, gathered, path)
    if context.json and path is not None:
        counts = {
            "items": gathered.count - gathered.left_out.total(),
            "flagged": gathered.flagged,
            "erased": gathered.erased,
        }
        context.emit({"file": str(path), **counts})
    gathered.report()
    return Exit.FLAGGED if gathered.flagged else Exit.OK


def _format(form: str) -> "Export | None":
    offered = offered_exports()
    if form not in (*PLAIN, *FILES, *offered):
        known = ", ".join((*PLAIN, *FILES, *offered))
        raise click.UsageError(f"there is no format {form!r}; there are: {known}")
    return offered.get(form)


class _Gathered:
    """Items of many records as they come, and what has to be said about them."""

    def __init__(
        self, context: CliContext, app: "AppProtocol", period: Period, stage: str | None
    ) -> None:
        self._context = context
        self._app = app
        self._period = period
        self._stage = stage
        self.view: ItemView | None = None
        self.flagged: list[str] = []
        self.left_out: Counter[str] = Counter()  # items that the format has no place for
        self.count = self.erased = self._rejected = self._again = self._undated = 0

    def rows(self, records: "Iterable[Record]", *, is_unique: bool) -> "Iterator[Fields]":
        from stateward.definition.display import doubt_of, flagged_rows

        seen: set[object] = set()
        for record in records:
            decision = record.flag_decision
            if decision is not None and decision.action == "reject":
                self._rejected += 1
                continue
            doubts = record.flags if decision is None else []
            for row in flagged_rows(self._items_of_period(record), doubts):
                identity = row.get("id")
                if is_unique and identity is not None and identity in seen:
                    self._again += 1
                    continue
                seen.add(identity)
                self.count += 1
                yield row
            if doubts:
                self.flagged.append(doubt_of(record.id, doubts))

    def _items_of_period(self, record: "Record") -> "Iterator[Fields]":
        from stateward.core.model import ERASED_REST

        found = self._app.stage_items(record.id, stage=self._stage)
        if found.stage is None:
            self.erased += record.rest == ERASED_REST
            return
        view = view_of(record, found.stage)
        self.view = self.view or view
        days = () if view is None else tuple(c for c in view.columns if c.format == "date")
        if not self._period.is_open and not days:
            self._context.say(f"the items of {record.id} have no days: they are left out")
            return
        for row in found.rows:
            day = str(days[0].value(row) or "") if days else ""
            if not self._period.is_open and not day:
                self._undated += 1
            elif self._period.is_open or self._period.covers(day[:10]):
                yield row

    def report(self) -> None:
        written = self.count - self.left_out.total()
        self._context.say(f"{plural(written, 'item')} written")
        for why, count in self.left_out.items():
            self._context.say(f"{plural(count, 'item')} left out: {why}")
        for count, why in (
            (self._again, "left out: they stand in another record too"),
            (self._undated, "left out: they have no day"),
        ):
            if count:
                self._context.say(f"{plural(count, 'item')} {why}")
        if self._rejected:
            self._context.say(
                f"{plural(self._rejected, 'record')} left out: a person rejected them"
            )
        if self.erased:
            self._context.say(
                f"{plural(self.erased, 'record')} left out: what they held was erased"
            )
        for sentence in self.flagged:
            self._context.say(sentence)


def _write(
    export: "Export | None",
    form: str,
    rows: "Iterator[Fields]",
    gathered: _Gathered,
    path: Path | None,
) -> None:
    if form in FILES and path is not None:
        from stateward.cli.table_files import write_parquet, write_xlsx

        with replacing(path) as made:
            (write_xlsx if form == "xlsx" else write_parquet)(made, rows, lambda: gathered.view)
        return
    lines = _lines(export, form, rows, gathered)
    if path is None:
        write_lines(lines)
        return
    with replacing(path) as made, made.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def _lines(
    export: "Export | None", form: str, rows: "Iterator[Fields]", gathered: _Gathered
) -> Iterator[str]:
    if export is not None:
        yield from export.written(export.fitting(rows, gathered.left_out), gathered.flagged)
        return
    if form == "jsonl":
        import msgspec

        for row in rows:
            yield msgspec.json.encode(row).decode() + "\n"
        return
    from stateward.cli.table_files import peek_first_row
    from stateward.definition.display import csv_lines, with_flags

    waiting = peek_first_row(rows)
    yield from csv_lines(waiting, with_flags(gathered.view))

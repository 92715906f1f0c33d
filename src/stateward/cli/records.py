"""Questions about records: `status`, `list`, `history`, `explain`, `logs`, `items`, `errors`, `counts`. Reads only."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Literal

import click

from stateward.cli.apps import check_known
from stateward.cli.commands import Command, command, flag_option, limit_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit, problem
from stateward.cli.extensions import offered_exports, view_of
from stateward.cli.output import cut, moment, plural, span, write, write_lines, write_table

if TYPE_CHECKING:
    from stateward.cli.apps import AppProtocol
    from stateward.core.model import Fields
    from stateward.schemas import Attempt, Record, Transition

ROWS_DEFAULT = 50

QUERY_HELP = """A query is one or more terms, and all must match. Quote it, because the shell interprets >.

\b
  status:error,parsing     in one of these statuses
  machine:invoices         of this machine
  stage:parse              waiting for or in this stage
  is:waiting               or running, suspended, failed, cancelled, ended, skipped, overdue (stuck)
  is:flagged  flag:SIGN_*  with a result flagged as wrong or incomplete that no person decided
  error:PDF_*              with this error code; * matches any ending
  document:report          with this in the file name
  message:"no table"       with this in the error message
  age>2h  idle<10m         since it was created, since its last change (s m h d w)
  created>=2026-01-31      a day, or a moment such as 2026-01-31T10:00:00Z
  priority>5  retries>2    numbers
  source:scan              the label source_type
  meta.client:42           any other label
  id:UL_01*  worker:NAME  artifact:SHA256
  report                   the start of an id, or a part of a file name

Put - or not: before a term to negate it: 'not:status:error'."""


@command(
    "status",
    "stateward status UL_01h2k3",
    "stateward status UL_01h2k3 UL_01h2k4 --json",
    is_listing=True,
    is_reading=True,
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@pass_context
def status(context: CliContext, ids: tuple[str, ...]) -> Exit:
    """Show the status and details of records.

    With --json, one ID gives an object and several give a list.
    """
    from stateward.core.errors import UnknownName

    found: list[Fields] = []
    worst = Exit.OK
    with context.app() as app:
        for record_id in ids:
            try:
                found.append(record_fields(app.record(record_id)))
            except UnknownName as error:
                worst = context.fail(problem(error))
    if context.json and len(ids) == 1 and found:
        context.emit(found[0])
    elif context.is_for_programs and (found or worst is Exit.OK):
        context.emit_rows(found)
    elif not context.is_for_programs:
        for place, fields in enumerate(found):
            if place:
                write()
            width = max(len(key) for key in fields)
            for key, value in fields.items():
                if value not in (None, {}, []) and key not in ("status_metadata", "is_at_rest"):
                    write(f"{key.ljust(width)}  {_value_text(key, value)}")
    return worst


def record_fields(record: "Record") -> "Fields":
    """A record as commands print it: the API's document, with the exposed fields among the others."""
    import msgspec

    fields: Fields = {}
    for key, value in msgspec.to_builtins(record).items():
        if key == "exposed":
            fields.update(value)
        else:
            fields[key] = value
    return fields


def _value_text(key: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    if key == "files" and isinstance(value, list):
        return ", ".join(f"{each['stage']}/{each['name']}" for each in value)
    if isinstance(value, list):
        return "; ".join(str(each) for each in value)
    return str(value)


class _Listing(Command):
    """A query may begin a word with '-', which would otherwise be an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        turned = [re.sub(r"^-(?=[A-Za-z][\w.]*[:=<>])", "not:", arg) for arg in args]
        return super().parse_args(ctx, turned)


@command(
    "list",
    "stateward list",
    "stateward list 'status:error error:PDF_* age>2h'",
    "stateward list --status error --machine invoices --limit 10 --jsonl",
    "stateward list is:failed --limit 1000 --format csv",
    cls=_Listing,
    is_listing=True,
    help=f"List records, newest first.\n\n{QUERY_HELP}",
    is_reading=True,
)
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@option("--status NAME", "In this status; may be repeated.", to="statuses", multiple=True)
@option("--machine NAME", "Of this machine; may be repeated.", to="machines", multiple=True)
@limit_option("Maximum number of records.", default=ROWS_DEFAULT)
@option("--after ID", "Continue after this record of an earlier list.", default="")
@option(
    "--format",
    "A table for people, or CSV with every label and exposed field; no cell is a formula.",
    to="form",
    type=click.Choice(("table", "csv")),
    default="table",
    show_default=True,
)
@pass_context
def list_(
    context: CliContext,
    *,
    form: str,
    words: tuple[str, ...],
    statuses: tuple[str, ...],
    machines: tuple[str, ...],
    limit: int,
    after: str,
) -> None:
    with context.app() as app:
        records = app.find(" ".join(words), statuses=statuses, machines=machines, after=after)
        if context.is_for_programs:
            context.emit_rows(record_fields(record) for record in islice(records, limit))
            return
        found = list(islice(records, limit))
        if form == "csv":
            _write_csv(found)
        else:
            _write_records(found)
        if next(records, None) is not None:
            context.say(f"{plural(limit, 'record')} shown; there are more: --after {found[-1].id}")


def _write_csv(records: Sequence["Record"]) -> None:
    """Records as CSV: the columns that all have, then their labels and whatever their machines expose."""
    from stateward.definition.display import Column, ItemView, csv_lines

    rows = [
        {
            "id": each.id,
            "machine": each.machine,
            "status": each.status,
            "document": each.labels.get("filename"),
            "error_code": each.error_code,
            "error_message": each.error_message,
            "priority": each.priority,
            "retry_count": each.retry_count,
            "created_at": each.created_at,
            "updated_at": each.updated_at,
            **{key: value for key, value in each.exposed.items() if not key.endswith("_ref")},
            **{f"label.{key}": value for key, value in each.labels.items() if key != "filename"},
        }
        for each in records
    ]
    # A row may lack what another has: every column stands in every row.
    names = dict.fromkeys(name for row in rows for name in row)
    view = ItemView(machine="", stage="", columns=tuple(Column(name) for name in names))
    for line in csv_lines(({name: row.get(name) for name in names} for row in rows), view):
        write(line.rstrip("\r\n"))


def _write_records(records: Sequence["Record"]) -> None:
    columns: tuple[str, ...] = ("id", "status", "updated", "document", "error")
    if any(record.flags for record in records):
        columns = (*columns, "flags")
    if len({record.machine for record in records}) > 1:
        columns = ("id", "machine", *columns[1:])
    write_table(columns, [_record_row(record, columns) for record in records])


def _flags_text(record: "Record") -> str:
    decision = f" ({record.flag_decision.action})" if record.flag_decision else ""
    return ", ".join(record.flags) + decision if record.flags else ""


def _record_row(record: "Record", columns: Sequence[str]) -> list[str]:
    error = (
        f"{record.error_code}: {record.error_message}" if record.error_code else record.rest or ""
    )
    cells = {
        "id": record.id,
        "machine": record.machine,
        "status": record.status,
        "updated": moment(record.updated_at),
        "document": cut(str(record.labels.get("filename", ""))),
        "error": cut(error),
        "flags": cut(_flags_text(record)),
    }
    return [cells[column] for column in columns]


@command(
    "history",
    "stateward history UL_01h2k3",
    "stateward history UL_01h2k3 --jsonl",
    is_listing=True,
    is_reading=True,
)
@click.argument("record_id", metavar="ID")
@pass_context
def history(context: CliContext, record_id: str) -> None:
    """Show everything that happened to a record, oldest first.

    Each line has the time, how long the record had been in its previous status, and what happened. --json prints whole
    transitions, as the API does.
    """
    with context.app() as app:
        transitions = list(app.history(record_id))
    if context.is_for_programs:
        context.emit_rows(transitions)
    else:
        write_history(transitions)


@command(
    "provenance",
    "stateward provenance UL_01h2k3",
    "stateward provenance UL_01h2k3 --format openlineage",
    is_reading=True,
)
@click.argument("record_id", metavar="ID")
@option(
    "--format",
    "W3C PROV-JSON, or a list of OpenLineage run events.",
    to="form",
    type=click.Choice(("prov", "openlineage")),
    default="prov",
    show_default=True,
)
@pass_context
def provenance(context: CliContext, record_id: str, form: Literal["prov", "openlineage"]) -> None:
    """Print the history of a record as W3C PROV or OpenLineage.

    Always JSON. Each state is an entity, each transition an activity with its actor; OpenLineage has a start and an end
    for each attempt at a stage.
    """
    with context.app() as app:
        context.emit(app.provenance(record_id, form=form).document)


def write_history(transitions: Sequence["Transition"]) -> None:
    """A line for each transition: when, how long after the one before, what, and the person who asked for it."""
    from stateward.core.model import PERSON, from_iso, plain_actor

    times = [from_iso(each.at) for each in transitions]
    waits = ["", *(f"after {span(later - earlier)}" for earlier, later in pairwise(times))]
    width = max(map(len, waits))
    for transition, wait in zip(transitions, waits, strict=bool(transitions)):
        who = transition.actor
        is_an_act = who.startswith(PERSON) and transition.source is not None
        by = f", by {plain_actor(who)}" if is_an_act else ""
        write(f"{moment(transition.at)}  {wait.ljust(width)}  {transition.sentence}{by}")


@command(
    "explain", "stateward explain UL_01h2k3", "stateward explain UL_01h2k3 --json", is_reading=True
)
@click.argument("record_id", metavar="ID")
@pass_context
def explain(context: CliContext, record_id: str) -> None:
    """Explain why a record is where it is, and what to do.

    For example: no worker, waiting for a retry, paused, in review, failed for good. Prints a code for programs and a
    sentence for people.
    """
    with context.app() as app:
        why = app.explain(record_id)
    if context.json:
        context.emit(why)
        return
    place = "" if why.code == "ended" else f"is in {why.status}: "
    write(f"{why.id} {place}{why.sentence}")
    for reason in why.reasons:
        write(f"  {reason}")
    if why.advice:
        write(f"what to do: {why.advice}")


@command(
    "logs",
    "stateward logs UL_01h2k3",
    "stateward logs UL_01h2k3 --stage parse --jsonl",
    is_listing=True,
    is_reading=True,
)
@click.argument("record_id", metavar="ID")
@option("--stage NAME", "Only of this stage.")
@option("--attempt N", "Only the Nth attempt at each stage; 1 is the first.", type=int)
@pass_context
def logs(context: CliContext, *, record_id: str, stage: str | None, attempt: int | None) -> None:
    """Show the log lines of the stages of a record.

    --jsonl prints each log line with its stage and attempt; --json prints a document for each attempt, with its lines.
    In both `attempt` is the version of the record, and `number` counts the attempts at a stage.
    """
    from stateward.core.errors import UnknownName

    with context.app() as app:
        found = app.attempts(record_id)
        if not found and not context.is_for_programs:
            context.say(why_nothing(app, record_id, "no attempt has ended yet"))
        if stage is not None and stage not in (stages := app.stages(record_id)):
            raise UnknownName("stage", stage, stages)
    numbered = _number(found)
    numbers = {str(number) for number, _ in numbered}
    if attempt is not None and str(attempt) not in numbers:
        raise UnknownName("attempt", str(attempt), numbers)
    numbered = [
        (number, each)
        for number, each in numbered
        if stage in (None, each.stage) and attempt in (None, number)
    ]
    if context.jsonl:
        context.emit_rows(
            {"stage": each.stage, "attempt": each.attempt, "number": number, **line}
            for number, each in numbered
            for line in each.log
        )
    elif context.json:
        context.emit_rows(each for _, each in numbered)
    else:
        _write_logs(numbered)


def why_nothing(app: "AppProtocol", record_id: str, otherwise: str) -> str:
    """Why there is nothing to show of a record: it may be gone, and not be yet to come."""
    from stateward.core.model import ERASED_REST

    is_erased = app.record(record_id).rest == ERASED_REST
    return f"what {record_id} held was erased" if is_erased else otherwise


def _number(attempts: Sequence["Attempt"]) -> "list[tuple[int, Attempt]]":
    """Attempts with their number among those at the same stage; later editions have that of the edition."""
    counted: Counter[str] = Counter()
    numbered: list[tuple[int, Attempt]] = []
    for each in attempts:
        if each.attempt >= 0:
            counted[each.stage] += 1
        numbered.append((counted[each.stage] if each.attempt >= 0 else each.attempt, each))
    return numbered


def _write_logs(attempts: "Sequence[tuple[int, Attempt]]") -> None:
    for number, each in attempts:
        end = (
            f"failed with {each.error_code}"
            if each.error_code
            else f"{each.outcome}, {plural(each.count, 'item')}"
        )
        which = f"attempt {number}" if number >= 0 else f"edition {-number}"
        write(f"{each.stage}, {which}: {end} ({moment(each.at)}, worker {each.worker})")
        for line in each.log:
            _write_log_line(line)


def _write_log_line(line: "Fields") -> None:
    """A line of a log as a sentence with its facts; a fact of several lines, as a traceback is, stands below."""
    known = ("stage", "attempt", "at", "level", "message")
    facts = {key: str(value) for key, value in line.items() if key not in known}
    short = [f"{key}={text}" for key, text in facts.items() if "\n" not in text]
    at = str(line.get("at", ""))[:19].replace("T", " ")
    head = [at, str(line.get("level", "")), str(line.get("message", "")), *short]
    write(f"  {' '.join(part for part in head if part)}")
    for text in facts.values():
        if "\n" in text:
            for each in text.splitlines():
                write(f"    {each}")


@command(
    "items",
    "stateward items UL_01h2k3 --stage normalize",
    "stateward items UL_01h2k3 --kind canonicals --format csv",
    "stateward items UL_01h2k3 UL_01h2k4 --kind canonicals --format csv --unique",
    is_listing=True,
    is_reading=True,
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@option("--stage NAME", "Of this stage; otherwise of the last one with items.")
@option("--kind NAME", "Of this kind, such as observations or canonicals.")
@option(
    "--format NAME",
    "Output format: json, jsonl, csv, or one that their pipeline offers.",
    to="form",
)
@option(
    "--edition N",
    "An earlier edition: 0 is what the stage produced first; otherwise the newest.",
    type=click.IntRange(min=0),
)
@flag_option(
    "--unique", "Print each id once, even if several records contain it, and count the rest."
)
@limit_option("Maximum number of items; otherwise all.")
@pass_context
def items(
    context: CliContext,
    *,
    ids: tuple[str, ...],
    stage: str | None,
    kind: str | None,
    form: str | None,
    edition: int | None,
    unique: bool,
    limit: int | None,
) -> None:
    """Print the items (rows) that a stage produced.

    Prints one JSON document per line; with --json one list. In CSV no cell can be read as a formula. In CSV and the
    formats of pipelines, rows of a result that is flagged as wrong or incomplete carry its codes.
    """
    from stateward.definition.display import csv_lines, flagged_rows, with_flags

    if stage and kind:
        raise click.UsageError("give --stage or --kind, not both")
    offered = offered_exports()
    if form not in (None, "json", "jsonl", "csv", *offered):
        known = ", ".join(("json", "jsonl", "csv", *offered))
        raise click.UsageError(f"there is no format {form!r}; there are: {known}")
    with context.app() as app:
        found = [app.stage_items(each, stage=stage, kind=kind, edition=edition) for each in ids]
        for record_id, each in zip(ids, found, strict=True):
            if each.stage is None:
                nothing = f"no stage of {record_id} has produced anything yet"
                context.say(why_nothing(app, record_id, nothing))
        doubts = [doubt for each in ids if (doubt := _doubt(app.record(each)))]
        for doubt in doubts:
            context.say(doubt)
        is_file = form == "csv" or form in offered
        rows: Iterator[Fields] = chain.from_iterable(
            flagged_rows(each.rows, _open_flags(app.record(record_id)) if is_file else ())
            for record_id, each in zip(ids, found, strict=True)
        )
        if unique:
            rows = _unique(context, rows)
        rows = islice(rows, limit)
        if form == "csv":
            view = view_of(app.record(ids[0]), found[0].stage or "")
            write_lines(csv_lines(rows, with_flags(view)))
            return
        if form is not None and form in offered:
            export, left_out = offered[form], Counter[str]()
            write_lines(export.written(export.fitting(rows, left_out), doubts))
            for why, count in left_out.items():
                context.say(f"{plural(count, 'item')} left out: {why}")
            return
        context.json = context.json or form == "json"
        context.jsonl = not context.json
        context.emit_rows(rows)


def _doubt(record: "Record") -> str:
    from stateward.definition.display import doubt_of

    decision = record.flag_decision
    return doubt_of(record.id, record.flags, "" if decision is None else decision.action)


def _open_flags(record: "Record") -> Sequence[str]:
    """The flags about which no person has decided."""
    return record.flags if record.flag_decision is None else ()


def _unique(context: CliContext, rows: Iterable["Fields"]) -> Iterator["Fields"]:
    seen: set[object] = set()
    again = 0
    for row in rows:
        identity = row.get("id")
        if identity is not None and identity in seen:
            again += 1
            continue
        seen.add(identity)
        yield row
    if again:
        context.say(
            f"{plural(again, 'row')} left out: their ids stand in another of the records too"
        )


@command(
    "errors",
    "stateward errors",
    "stateward errors --machine invoices",
    "stateward errors --jsonl",
    is_listing=True,
    is_reading=True,
)
@option("--machine NAME", "Of this machine; may be repeated.", to="machines", multiple=True)
@pass_context
def errors(context: CliContext, *, machines: tuple[str, ...]) -> None:
    """Show why records failed, grouped by cause.

    The most frequent cause comes first. Retry a whole group with: stateward retry --query 'error:CODE'.
    """
    with context.app() as app:
        if machines:
            check_known("machine", machines, app.statuses())
        groups = [each for each in app.errors() if not machines or each.machine in machines]
    context.show_rows(
        groups,
        ("count", "machine", "code", "message"),
        lambda each: (each.count, each.machine, each.error_code, cut(each.error_message or "")),
        nothing=f"no record {'of ' + ', '.join(machines) + ' ' if machines else ''}has failed",
    )


@command(
    "counts",
    "stateward counts",
    "stateward counts 'machine:invoices age<1d' --json",
    cls=_Listing,
    is_listing=True,
    is_reading=True,
)
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@pass_context
def counts(context: CliContext, words: tuple[str, ...]) -> None:
    """Count records by machine and status.

    Counts all records, or those that match a query as in `stateward list`. Cancelled records have a line of their own,
    whatever status they were stopped in: they did not fail.
    """
    with context.app() as app:
        rows = app.counts(" ".join(words) or None)
    if context.is_for_programs:
        context.emit_rows(rows)
    elif not rows:
        context.say("there is no such record" if words else "there are no records yet")
    else:
        write_table(
            ("machine", "status", "count"),
            [
                (each.machine, status, count)
                for each in rows
                for status, count in (
                    (each.status, each.count - each.cancelled),
                    ("cancelled", each.cancelled),
                )
                if count
            ],
        )

"""`stateward ledger`: query a ledger directory. Needs no database and no settings.

The other commands are in `write`, `verify`, `maintenance` and `migrate`.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, Group, flag_option, limit_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.ledger import maintenance, migrate, verify
from stateward.cli.ledger import write as writing
from stateward.cli.ledger.options import ledger_argument, reading
from stateward.cli.output import cut, hand_over, moment, plural, span, write, write_table

if TYPE_CHECKING:
    from stateward.ledger import Ledger, LedgerAuditRecord, LedgerDocument

ROWS_DEFAULT = 100
ROWS_MAX = 1_000_000
WATCH_S = 0.2
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@click.group(
    "ledger",
    cls=Group,
    examples=["stateward ledger init ledger/", "stateward ledger stats ledger/"],
    renamed={
        "verify": "stateward verify",
        "snapshot": "compact --no-pack",
        "documents": "state --long",
        "prune-backups": "migrate --prune-backups",
        "maintain": "compact",
    },
)
def ledger() -> None:
    """Write, query, verify and maintain a ledger of documents."""


def duration(text: str) -> timedelta:
    """A time as `6h`, `90m` or `2d`."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS_S or not number.isascii() or not number.replace(".", "", 1).isdecimal():
        raise click.BadParameter(f"{text!r} is no time; write 90m, 6h or 2d")
    try:
        return timedelta(seconds=float(number) * UNITS_S[unit])
    except OverflowError:
        raise click.BadParameter(f"{text!r:.60} is longer than time itself") from None


@ledger.command(
    "state",
    "stateward ledger state ledger/ doc:123",
    "stateward ledger state ledger/ --long --state failed",
    "stateward ledger state export.jsonl --json",
    is_listing=True,
)
@click.argument("ledger_path", metavar="DIR|FILE", type=A_FILE)
@click.argument("doc_ids", metavar="[DOC_ID]...", nargs=-1)
@flag_option("--long", "List them with since when, adapter and error.", to="is_long")
@option("--state", "Only those in this state.", to="state_")
@limit_option(f"Maximum number; with --long a table has {ROWS_DEFAULT} by default.", most=ROWS_MAX)
@pass_context
def state(
    context: CliContext, *, ledger_path: Path, doc_ids: tuple[str, ...], is_long: bool, state_: str | None,
    limit: int | None,
) -> None:  # fmt: skip
    """Print the states of documents, by default of all.

    A file is one that `ledger export` wrote; a damaged one is refused with its damage.
    """
    from itertools import islice

    if is_long and (doc_ids or ledger_path.is_file()):
        raise click.UsageError(
            "--long lists the documents of a ledger directory; leave the ids away"
        )
    if is_long:
        with reading(context, ledger_path) as found:
            _check_state(found, state_)
            _list_documents(context, found.documents(state=state_), limit)
        return
    states = _states(context, ledger_path, doc_ids, state_)
    chosen = (each for each in states.items() if state_ is None or each[1] == state_)
    if context.json:
        context.emit(dict(islice(chosen, limit)))
    elif context.jsonl:
        context.emit_rows(
            {"doc_id": doc_id, "state": name} for doc_id, name in islice(chosen, limit)
        )
    else:
        for doc_id, name in islice(chosen, limit):
            write(f"{doc_id}  {name}")


@ledger.command("next", "stateward ledger next ledger/ doc:123")
@ledger_argument
@click.argument("doc_id")
@pass_context
def next_(context: CliContext, ledger_path: Path, doc_id: str) -> None:
    """Show the states that a document may move to.

    After a failure that is the step that failed. A document that the ledger does not know may begin.
    """
    with reading(context, ledger_path, with_machines=True) as found:
        now, names = found.state(doc_id), [str(name) for name in found.next_states(doc_id)]
    if context.json:
        context.emit({"doc_id": doc_id, "state": now, "next": names})
        return
    for name in names:
        write(name)
    if not names:
        context.say(f"{cut(doc_id, chars_max=80)} is in {now}, from where nothing goes on")


def _states(
    context: CliContext, path: Path, doc_ids: tuple[str, ...], wanted: str | None
) -> dict[str, str]:
    """The states of these documents; without ids of all, or of those in the wanted state."""
    from stateward.core.errors import UnknownName
    from stateward.ledger.export_file import file_states

    if path.is_file():
        known = file_states(path)
        found = {doc_id: known.get(doc_id) for doc_id in doc_ids} if doc_ids else dict(known)
    else:
        with reading(context, path) as opened:
            _check_state(opened, wanted)
            if doc_ids:
                found = {doc_id: opened.state(doc_id) for doc_id in doc_ids}
            else:
                found = {each.doc_id: each.state for each in opened.documents(state=wanted)}
    for doc_id, name in found.items():
        if name is None:
            raise UnknownName("document", cut(doc_id, chars_max=80))
    return {doc_id: str(name) for doc_id, name in found.items()}


@ledger.command(
    "history",
    "stateward ledger history ledger/ doc:123",
    "stateward ledger history ledger/ doc:123 --jsonl",
    is_listing=True,
)
@ledger_argument
@click.argument("doc_id")
@pass_context
def history(context: CliContext, ledger_path: Path, doc_id: str) -> None:
    """Show everything that happened to a document.

    Also what was rolled back or archived; what was removed on purpose is missing.
    """
    from stateward.core.errors import UnknownName

    with reading(context, ledger_path) as found:
        records, now = found.history(doc_id), found.state(doc_id)
    if now is None and not records:
        raise UnknownName("document", cut(doc_id, chars_max=80))
    if context.is_for_programs:
        context.emit_rows(each.to_dict() for each in records)
    elif not records:
        context.say(f"{cut(doc_id, chars_max=80)} is in {now}; its lines were removed on purpose")
    else:
        write_table(("seq", "at", "from", "to", "after", "adapter", "what"), map(_row, records))


def _row(each: "LedgerAuditRecord") -> tuple[object, ...]:
    what = ": ".join(part for part in (each.error_type, each.error_message) if part)
    after = "" if each.duration_seconds is None else span(round(each.duration_seconds * 1_000_000))
    at = moment(round(each.timestamp * 1_000_000))
    return each.seq, at, each.old_state, each.new_state, after, each.adapter, cut(what)


def _check_state(found: "Ledger", name: str | None) -> None:
    from stateward.core.errors import UnknownName

    if name is not None and found.machine is not None and name not in found.machine.state:
        raise UnknownName("state", name, found.machine.state)


def _list_documents(
    context: CliContext, found: Iterator["LedgerDocument"], limit: int | None
) -> None:
    from itertools import islice

    if context.is_for_programs:
        context.emit_rows(islice(found, limit))
        return
    most = limit or ROWS_DEFAULT
    shown = list(islice(found, most + 1))
    rows = [
        (cut(each.doc_id), each.state, moment(round(each.updated_at * 1_000_000)), each.adapter,
         each.retry_count or "", cut(each.error_message or ""))
        for each in shown[:most]
    ]  # fmt: skip
    write_table(("document", "state", "updated", "adapter", "retries", "error"), rows)
    if len(shown) > most:
        context.say(f"and more; --limit {most * 10} shows more of them")


@ledger.command("stats", "stateward ledger stats ledger/", "stateward ledger stats ledger/ --json")
@ledger_argument
@pass_context
def stats(context: CliContext, ledger_path: Path) -> None:
    """Count documents, errors, adapters and durations.

    Costs the same however many documents there are. Durations are the stays in a state that have ended.
    """
    with reading(context, ledger_path) as found:
        summary, counts = found.summary(), found.counts()
        snapshots, last = found.snapshots(), found.last_seq
    answer = {
        "document_count": summary.documents,
        "distribution": dict(sorted(counts.items())),
        "error_types": summary.errors,
        "adapters": summary.adapters,
        "durations": {
            name: {
                "count": stays.count, "mean_s": round(stays.total_s / stays.count, 6), "max_s": stays.max_s,
                "p50_s": stays.percentile(0.5), "p95_s": stays.percentile(0.95),
            }
            for name, stays in sorted(summary.durations.items()) if stays.count
        },
        "sources": summary.sources,
        "records": last,
        "snapshots": len(snapshots),
    }  # fmt: skip
    if context.json:
        context.emit(answer)
        return
    write(
        f"{plural(summary.documents, 'document')}, {plural(last, 'record')}, {plural(len(snapshots), 'snapshot')}"
    )
    rows = []
    for name in sorted(counts.keys() | summary.durations.keys()):
        stays = summary.durations.get(name)
        times = (
            [span(round(stays.percentile(share) * 1_000_000)) for share in (0.5, 0.95)]
            if stays
            else ["", ""]
        )
        rows.append((name, f"{counts.get(name, 0):,}", *times))
    write_table(("state", "documents", "p50", "p95"), rows)
    for title, names in (("error type", summary.errors), ("adapter", summary.adapters)):
        if names:
            write()
            most_first = sorted(names.items(), key=lambda each: (-each[1], each[0]))
            write_table((title, "records"), most_first)


@ledger.command(
    "stuck",
    "stateward ledger stuck ledger/ --older-than 6h",
    "stateward ledger stuck ledger/ --state parsing",
    is_listing=True,
)
@ledger_argument
@option("--older-than", "How long it has been there: 90m, 6h, 2d.", default="6h", show_default=True)
@option("--state", "Only these states; otherwise all that are no end.", to="states", multiple=True)
@limit_option(f"Maximum number; a table has {ROWS_DEFAULT} by default.", most=ROWS_MAX)
@pass_context
def stuck(
    context: CliContext,
    *,
    ledger_path: Path,
    older_than: str,
    states: tuple[str, ...],
    limit: int | None,
) -> Exit:
    """List documents that have not moved for long.

    Exit code 1 if there are any.
    """
    from itertools import chain

    age = duration(older_than)
    with reading(context, ledger_path, with_machines=True) as found:
        for name in states:
            _check_state(found, name)
        late = found.stuck(older_than=age, states=states or None)
        first = next(late, None)
        if first is None:
            if context.is_for_programs:
                context.emit_rows([])
            context.say(f"nothing has been in one state for longer than {older_than}")
            return Exit.OK
        _list_documents(context, chain((first,), late), limit)
    return Exit.FOUND_PROBLEMS


@ledger.command(
    "query",
    "stateward ledger query ledger/ 'SELECT new_state, count(*) FROM ledger GROUP BY ALL'",
    is_listing=True,
)
@ledger_argument
@click.argument("sql", metavar="SQL")
@pass_context
def query(context: CliContext, ledger_path: Path, sql: str) -> None:
    """Query the log in SQL, with DuckDB.

    The table `ledger` holds every line of the log, live and archived, with the fields of the reference page, and
    `happened_at`, the timestamp as a time. Needs the extra `query`: pip install 'stateward[query]'.
    """
    from stateward.cli.ledger.query import ask

    with reading(context, ledger_path) as found:
        columns, rows, notes = ask(found, sql)
    for note in notes:
        context.say(f"note: {note}")
    if context.is_for_programs:
        context.emit_rows(dict(zip(columns, row, strict=True)) for row in rows)
    else:
        write_table(columns, rows)


@ledger.command(
    "watch",
    "stateward ledger watch ledger/",
    "stateward ledger watch ledger/ --after 0 --until-idle --jsonl",
    is_listing=True,
)
@ledger_argument
@option(
    "--after SEQ",
    "Begin after this seq; otherwise with what comes from now on.",
    type=click.IntRange(0),
)
@flag_option("--until-idle", "Show what there is, then end.")
@pass_context
def watch(context: CliContext, *, ledger_path: Path, after: int | None, until_idle: bool) -> None:
    """Follow the ledger as it is written, until interrupted."""
    with reading(context, ledger_path) as found:
        records = found.follow(after=after, poll_s=WATCH_S, until=lambda: until_idle)
        if context.json and not until_idle:
            # A list without an end has no closing bracket.
            context.json, context.jsonl = False, True
        if context.json:
            context.emit_rows(each.to_dict() for each in records)
            return
        for each in records:
            if context.jsonl:
                context.emit_rows([each.to_dict()])
            else:
                seq, at, old, new, after_s, adapter, what = _row(each)
                name = cut(each.doc_id) or "the ledger"
                parts = (seq, at, f"{name}: {old or 'new'} → {new}", adapter, after_s, what)
                write("  ".join(str(part) for part in parts if part))
            hand_over()


for _part in (writing, verify, maintenance, migrate):
    for _command in _part.COMMANDS:
        ledger.add_command(_command)

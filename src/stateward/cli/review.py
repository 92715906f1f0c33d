"""`stateward review`: what waits for a person, taking it up, and deciding it.

What a decision means is the business of `reviews`; this is its context. A decision is kept with who made it.
"""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stateward.cli.commands import A_FILE, Group, flag_option, limit_option, option, options
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import cut, moment, plural, write, write_file, write_table
from stateward.cli.records import record_fields
from stateward.cli.review_links import link, links, revoke_link

if TYPE_CHECKING:
    from stateward.cli.apps import AppProtocol
    from stateward.core.model import Fields
    from stateward.schemas import Record, ReviewDetail, ReviewTask

ROWS = 100
CODE = option("--code CODE", "One of the reason codes of the review; kept in the history.")
VALUES_MAX = 100


# What names values.
_correcting = options(
    option(
        "--set FIELD=VALUE",
        "The right value of a field; again for several values of one field.",
        to="given",
        multiple=True,
    ),
    option("--none FIELD", "A field that the document does not have.", to="absent", multiple=True),
    option(
        "--values FILE",
        "A JSON object: field to value, list of values, or null.",
        to="file",
        type=A_FILE,
    ),
)


@click.group(
    "review",
    cls=Group,
    examples=[
        "stateward review list",
        "stateward review show IN_01h2k3",
        "stateward review correct IN_01h2k3 --set total=56.90",
    ],
)
def review() -> None:
    """Decide reviews: approve, correct, reject."""


for _command in (link, links, revoke_link):
    review.add_command(_command)


@review.command(
    "list",
    "stateward review list",
    "stateward review list --jsonl",
    is_listing=True,
    is_reading=True,
)
@limit_option(default=ROWS, most=1000)
@pass_context
def list_(context: CliContext, *, limit: int) -> None:
    """List open reviews.

    The nearest deadline comes first.
    """
    with context.app() as app:
        tasks = list(islice(app.pending_reviews(limit=limit), limit))
    columns = ("id", "document", "about", "confidence", "why", "until", "claimed by")
    context.show_rows(tasks, columns, _cells, nothing="no review is pending")


@review.command("show", "stateward review show IN_01h2k3", is_reading=True)
@click.argument("record_id", metavar="ID")
@pass_context
def show(context: CliContext, *, record_id: str) -> None:
    """Show a review: what was found, and what the checks say.

    One that is decided says by whom, when and how.
    """
    with context.app() as app:
        found = app.get_review(record_id)
    if context.json:
        context.emit(found)
        return
    _show(context, found)


@review.command("claim", "stateward review claim IN_01h2k3")
@click.argument("record_id", metavar="ID")
@pass_context
def claim(context: CliContext, *, record_id: str) -> None:
    """Claim a review.

    No other person may decide it for a while (`reviews.claim_seconds`). You may renew your claim.
    """
    with context.app() as app:
        task = app.claim_review(record_id)
    if context.json:
        context.emit(task)
    elif task.claim is not None:
        context.say(f"{task.record_id} is yours until {moment(task.claim.until)}")


@review.command("unclaim", "stateward review unclaim IN_01h2k3")
@click.argument("record_id", metavar="ID")
@pass_context
def unclaim(context: CliContext, *, record_id: str) -> None:
    """Give a claimed review back, for others to claim."""
    with context.app() as app:
        task = app.unclaim_review(record_id)
    context.show(task, message=f"{task.record_id} is free")


@review.command(
    "approve",
    "stateward review approve IN_01h2k3 --reason 'compared with the paper'",
    "stateward review approve IN_01h2k3 IN_01h2k4",
)
@click.argument("record_ids", metavar="ID...", nargs=-1, required=True)
@option("--reason TEXT", "Why; kept in the history.", to="notes")
@CODE
@pass_context
def approve(
    context: CliContext, *, record_ids: tuple[str, ...], notes: str | None, code: str | None
) -> Exit:
    """Approve the values as they were found.

    The first decision counts; a second is refused. Where a review needs several approvals, each must come from another
    person. Several records are decided one by one; if any is refused, the others are still decided, and the exit code
    is 4.
    """
    return _decide(context, record_ids, "approve", notes=notes, reason_code=code)


@review.command(
    "reject",
    "stateward review reject IN_01h2k3 --reason 'page 2 is missing'",
    "stateward review reject IN_01h2k3 --code illegible",
)
@click.argument("record_ids", metavar="ID...", nargs=-1, required=True)
@option("--reason TEXT", "Why; kept in the history.", to="notes")
@CODE
@pass_context
def reject(
    context: CliContext, *, record_ids: tuple[str, ...], notes: str | None, code: str | None
) -> Exit:
    """Reject documents, with a reason.

    If the review has reason codes, --code is required (`stateward review show` lists them); otherwise --reason.
    """
    if notes is None and code is None:
        raise click.UsageError(
            "give a reason: --reason TEXT, or --code CODE if the review has codes"
        )
    return _decide(context, record_ids, "reject", notes=notes, reason_code=code)


@review.command(
    "correct",
    "stateward review correct IN_01h2k3 --set total=56.90 --set due_date=2027-02-28",
    "stateward review correct IN_01h2k3 --none discount --reason 'there is none'",
    "stateward review correct IN_01h2k3 --values corrected.json",
    "stateward review correct IN_01h2k3 --move due_date=delivery_date",
)
@click.argument("record_id", metavar="ID")
@_correcting
@option(
    "--move FROM=TO",
    "Move the value that was found for one field to another.",
    to="moves",
    multiple=True,
)
@option("--reason TEXT", "Why; kept in the history.", to="notes")
@CODE
@pass_context
def correct(
    context: CliContext,
    *,
    record_id: str,
    given: tuple[str, ...],
    absent: tuple[str, ...],
    file: Path | None,
    moves: tuple[str, ...],
    notes: str | None,
    code: str | None,
) -> Exit:
    """Approve a document with corrected values.

    Fields that are not named stay as they were found. The rules of the pipeline apply to corrected values; one that
    breaks them is refused with the reason. Corrections are stored beside what was found, and later stages use them.
    """
    values = {**_from_file(file), **_from_options(given), **dict.fromkeys(absent)}
    moved = {name: str(to) for name, to in _from_options(moves, flag="--move").items()}
    if not values and not moved:
        raise click.UsageError(
            "name at least one field: --set FIELD=VALUE, --none FIELD, --move FROM=TO or --values"
        )
    return _decide(
        context,
        (record_id,),
        "correct",
        corrected=values,
        moved=moved,
        notes=notes,
        reason_code=code,
    )


@review.command(
    "ask",
    "stateward review ask IN_01h2k3 --to bob --reason 'is this the total?'",
    "stateward review ask IN_01h2k3 --to group:legal --set total=56.90 --blind",
)
@click.argument("record_id", metavar="ID")
@option("--to NAME", "A person, or a group as group:NAME.", required=True)
@_correcting
@flag_option("--blind", "Hide your values from the person who is asked.", to="is_blind")
@option("--reason TEXT", "What is asked; kept in the history.", to="notes")
@pass_context
def ask(
    context: CliContext,
    *,
    record_id: str,
    to: str,
    given: tuple[str, ...],
    absent: tuple[str, ...],
    file: Path | None,
    is_blind: bool,
    notes: str | None,
) -> None:
    """Ask another person or a group for a second opinion.

    The record stays in its review, and the person or group that was asked decides it. They see the values that you
    would correct, unless --blind hides them until the decision. You may ask again, also to take it back.
    """
    values = {**_from_file(file), **_from_options(given), **dict.fromkeys(absent)}
    with context.app() as app:
        task = app.ask_opinion(record_id, to, corrected=values, is_blind=is_blind, notes=notes)
    context.show(task, message=f"{task.record_id} waits for {to}")


@review.command(
    "statistics",
    "stateward review statistics",
    "stateward review statistics --days 7 --json",
    is_listing=True,
    is_reading=True,
)
@option(
    "--days N",
    "How many days back, from now.",
    type=click.IntRange(min=1, max=366),
    default=30,
    show_default=True,
)
@pass_context
def statistics(context: CliContext, *, days: int) -> None:
    """Show what people decided, and which fields they corrected.

    Overturned decisions were approvals that another person then corrected or rejected. With --server only an
    administrator sees the lines of other people.
    """
    with context.app() as app:
        found = app.review_statistics(days=days)
    if context.is_for_programs:
        context.emit(found)
        return
    if not found.people and not found.fields:
        context.say(f"no review was decided in the last {plural(days, 'day')}")
        return
    columns = ("person", "decided", "approved", "corrected", "rejected", "overturned", "median s")
    write_table(
        columns,
        [
            (
                each.person,
                each.decided,
                each.approved,
                each.corrected,
                each.rejected,
                each.overturned,
                round((each.wait_s if each.worked_s is None else each.worked_s) or 0),
            )
            for each in found.people
        ],
    )
    if found.fields:
        write("")
        write_table(
            ("machine", "field", "corrected", "of accepted"),
            [(each.machine, each.field, each.corrected, each.accepted) for each in found.fields],
        )
    if found.reasons:
        write("")
        write_table(
            ("machine", "reason code", "rejections"),
            [(each.machine, each.reason_code, each.count) for each in found.reasons],
        )


@review.command(
    "export",
    "stateward review export --gold gold.jsonl",
    "stateward review export --gold -",
    is_reading=True,
)
@option("--gold FILE", "The file to write, or - for stdout.", required=True)
@pass_context
def export(context: CliContext, *, gold: str) -> None:
    """Export every decision as gold data, in JSON lines.

    Each has the document's SHA-256, what was found with its confidence, what is right, who decided and when.
    `stateward eval` measures a pipeline by it.
    """
    with context.app() as app:
        count = write_file(gold, app.gold_lines())
    context.show({"file": gold, "decisions": count}, message=f"{plural(count, 'decision')} written")


# Parts


def _decide(context: CliContext, record_ids: Sequence[str], action: str, **answer: Any) -> Exit:  # noqa: ANN401 - the rest of `AppProtocol.review`
    """Decide one review, or each of several for itself."""
    from stateward.core.errors import StatewardError, StoreUnreachable

    decided: list[Fields] = []
    refused: list[Fields] = []
    with context.app() as app:
        for record_id in dict.fromkeys(record_ids):
            try:
                record = app.review(record_id, action, **answer)
            except StatewardError as error:
                if len(record_ids) == 1 or isinstance(error, StoreUnreachable):
                    raise
                refused.append({"id": record_id, "problem": str(error)})
                context.say(f"{record_id} was not decided: {error}")
                continue
            decided.append(record_fields(record))
            if not context.json:
                write(f"{record.id} {record.status}{_still_needed(app, record)}")
    if context.json:
        context.emit(
            decided[0] if len(record_ids) == 1 else {"decided": decided, "refused": refused}
        )
    return Exit.REFUSED if refused else Exit.OK


def _still_needed(app: "AppProtocol", record: "Record") -> str:
    """How many approvals are left where one is not enough."""
    task = app.get_review(record.id)
    left = task.approvals_needed - len(task.approvals)
    return "" if task.decision is not None else f" ({plural(left, 'approval')} to go)"


def _from_options(
    given: Sequence[str], *, flag: str = "--set"
) -> "dict[str, str | list[str] | None]":
    values: dict[str, list[str]] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name.strip():
            raise click.UsageError(f"{flag} takes FIELD=VALUE, not {each!r}")
        values.setdefault(name.strip(), []).append(value)
    return {name: own[0] if len(own) == 1 else own for name, own in values.items()}


def _from_file(path: Path | None) -> "dict[str, str | list[str] | None]":
    from stateward.core.errors import InvalidRequest

    if path is None:
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidRequest(f"{path} is no JSON: {error}") from error
    if (
        not isinstance(found, dict)
        or len(found) > VALUES_MAX
        or not all(map(_is_value, found.values()))
    ):
        raise InvalidRequest(
            f"{path} must hold a JSON object: field to text, list of texts, or null"
        )
    return found


def _is_value(value: object) -> bool:
    is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return value is None or isinstance(value, str) or is_list


def _cells(task: "ReviewTask") -> list[object]:
    from stateward.core.model import plain_actor
    from stateward.core.view import note_codes

    return [
        task.record_id,
        cut(task.filename or ""),
        cut(", ".join(each for each in task.facts.values() if each)),
        task.confidence,
        note_codes(task.reasons),
        None if task.deadline is None else moment(task.deadline),
        None if task.claim is None else plain_actor(task.claim.by),
    ]


def _show(context: CliContext, task: "ReviewDetail") -> None:
    from stateward.core.model import plain_actor
    from stateward.definition.display import columns_of
    from stateward.engine.corrections import are_rows

    known_of_it = {
        "id": task.record_id,
        "document": task.filename,
        **task.facts,
        "confidence": task.confidence,
        "deadline": None if task.deadline is None else moment(task.deadline),
        "claimed by": None if task.claim is None else plain_actor(task.claim.by),
    }
    for name, value in known_of_it.items():
        if value is not None:
            write(f"{name.replace('_', ' ')}: {value}")
    if (decision := task.decision) is not None:
        code = f", {decision.reason_code}" if decision.reason_code else ""
        said_by = f"{plain_actor(decision.by)} at {moment(decision.at)}"
        write(f"decided: {decision.action} by {said_by}{code}")
    _show_people(task)
    values: dict[str, list[Fields]] = {}
    for each in task.problems:
        values.setdefault(str(each.get("field")), []).append(each)
    if are_rows(task.fields):
        columns = columns_of(None, task.fields)
        write_table(
            [column.heading for column in columns],
            [[cut(column.text(row)) for column in columns] for row in task.fields],
        )
    else:
        write_table(
            ("field", "value", "confidence", "what the checks say"),
            [
                (
                    each.get("field"),
                    cut(str(each.get("value") or "")),
                    each.get("confidence"),
                    cut(_all_said(values.get(str(each.get("field")), []))),
                )
                for each in task.fields
            ],
        )
    known = {str(each.get("field")) for each in task.fields}
    for name, problems in values.items():
        if name not in known and (text := _all_said(problems)):
            write(f"{name or 'the document'}: {text}")
    for table in task.evidence:
        write(f"{table.title}:")
        write_table(table.columns, table.rows)
    if task.decision is None:
        context.say(f"decide it: stateward review approve, correct or reject {task.record_id}")


def _show_people(task: "ReviewDetail") -> None:
    """Who may decide, who has, and what a rejection can be for."""
    from stateward.core.model import plain_actor

    if task.group is not None:
        write(f"decided by: the group {task.group}")
    if task.approvals_needed > 1 and task.decision is None:
        given = (
            ", ".join(f"{plain_actor(each.by)} ({each.answer})" for each in task.approvals)
            or "none yet"
        )
        write(f"approvals: {given}; {task.approvals_needed} are needed")
    for each in task.opinions:
        values = "; ".join(f"{name}: {', '.join(own)}" for name, own in each.values.items())
        hidden = " (values hidden)" if each.is_blind and not values else ""
        remarks = " · ".join(part for part in (each.notes or "", values) if part)
        write(
            f"{plain_actor(each.by)} asked {plain_actor(each.to)}{hidden}{': ' + remarks if remarks else ''}"
        )
    if task.reason_codes and task.decision is None:
        codes = ", ".join(f"{code} ({text})" for code, text in task.reason_codes.items())
        write(f"reason codes: {codes}")


def _all_said(problems: "Sequence[Fields]") -> str:
    """What all checks say of one field, or of the whole document."""
    return "; ".join(text for each in problems if (text := _check_text(each)))


def _check_text(problem: "Fields") -> str:
    """What a check says of a field, whichever way it is written."""
    if isinstance(sentence := problem.get("sentence"), str):
        return sentence
    inner = problem.get("problems")
    if isinstance(inner, list):
        return "; ".join(_check_text(each) for each in inner if isinstance(each, dict))
    return ""

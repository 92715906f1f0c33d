"""A person's requests: `retry`, `cancel`, `set-priority`, `advance`, `pause`, `resume`, kept with actor and reason.

An action on a query never means more than the person saw: it shows its counts first, asks, and acts on the query
as it was then. An empty query is refused.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stateward.cli.commands import command, flag_option, option, options
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.output import plural, write, write_table
from stateward.cli.records import record_fields

if TYPE_CHECKING:
    from stateward.app.actions import Bulk, BulkAction
    from stateward.cli.apps import AppProtocol

REFUSALS = {
    "impossible": "the machine has no such move from their status",
    "stale": "they were changed meanwhile",
    "ahead": "they were changed meanwhile",
    "duplicate": "the same was asked for already",
}

# What retry, cancel and set-priority take.
_acting = options(
    click.argument("ids", metavar="[ID]...", nargs=-1),
    option("--query QUERY", "All records that match this query, as in `list`.", to="text"),
    flag_option("--dry-run", "Only show how many records it would affect."),
    option("--reason TEXT", "Why; kept in the history."),
    flag_option("--yes", "Do not ask for confirmation."),
    pass_context,
)


@command(
    "retry",
    "stateward retry UL_01h2k3 --reason 'the sender mended the export'",
    "stateward retry --query 'status:error error:PDF_*' --dry-run",
    "stateward retry --query 'status:error error:PDF_*' --yes",
)
@_acting
def retry(context: CliContext, **how: Any) -> Exit:  # noqa: ANN401 - the arguments of _acting
    """Try failed records again from the step that failed.

    Name records, or a query for all that match it. An empty query is refused. If any record is
    refused, the others are still retried, and the exit code is 4.
    """
    return _act(context, "retry", **how)


@command(
    "cancel",
    "stateward cancel UL_01h2k3 --reason 'sent by mistake'",
    "stateward cancel --query 'is:waiting source:scan' --dry-run",
)
@_acting
def cancel(context: CliContext, **how: Any) -> Exit:  # noqa: ANN401 - the arguments of _acting
    """Cancel records; they end as failed.

    Each fails with the code CANCELLED. Name records, or a query for all that match it. An empty query is refused, and
    so is a record whose machine has no such move from where it is.
    """
    return _act(context, "cancel", **how)


@command(
    "set-priority",
    "stateward set-priority UL_01h2k3 --to 9 --reason 'a customer waits'",
    "stateward set-priority --query 'is:waiting source:scan' --to batch_import --dry-run",
)
@option(
    "--to N",
    "1 to 10, higher goes first; or a name from the profile.",
    to="priority",
    required=True,
)
@_acting
def set_priority(context: CliContext, *, priority: str, **how: Any) -> Exit:  # noqa: ANN401 - the arguments of _acting
    """Set the priority of records.

    It matters while records wait, if the settings have a priority queue. Name records, or a query for all that match
    it. An empty query is refused, and so is a record that has ended.
    """
    return _act(context, "set-priority", priority=priority, **how)


def _act(
    context: CliContext,
    verb: str,
    *,
    ids: tuple[str, ...],
    text: str | None,
    dry_run: bool,
    reason: str | None,
    yes: bool,
    priority: str = "",
) -> Exit:
    if bool(ids) == (text is not None):
        raise click.UsageError("name records or give --query, not both")
    with context.app() as app:
        acting = _Acting(context, app, verb, reason, priority)
        if dry_run:
            return acting.show(acting.bulk(ids, text, is_dry_run=True))
        if len(ids) == 1:
            return acting.one(ids[0])
        if text is not None and not yes and not acting.is_agreed(text):
            context.say("nothing was done")
            return Exit.INTERRUPTED
        return acting.show(acting.bulk(ids, text, is_dry_run=False))


class _Acting:
    """One verb, applied to many records."""

    def __init__(
        self,
        context: CliContext,
        app: "AppProtocol",
        verb: str,
        reason: str | None,
        priority: str = "",
    ) -> None:
        self._context = context
        self._app = app
        self._verb = verb
        self._action: BulkAction = (
            "priority" if priority else "retry" if verb == "retry" else "cancel"
        )
        self._priority = priority
        self._reason = reason

    def one(self, record_id: str) -> Exit:
        from stateward.core.view import first_come

        if self._action == "priority":
            record = self._app.set_priority(record_id, self._priority, reason=self._reason)
        else:
            act = self._app.retry if self._action == "retry" else self._app.cancel
            record = act(record_id, reason=self._reason)
        if self._context.json:
            self._context.emit(record_fields(record))
        elif self._action == "priority":
            write(f"{record.id} has priority {record.priority}")
            if not record.is_priority_used:
                self._context.say(first_come([record.machine]))
        else:
            write(list(self._app.history(record_id))[record.version].sentence)
        return Exit.OK

    def bulk(self, ids: Sequence[str], query: str | None, *, is_dry_run: bool) -> "Bulk":
        word = "looked at" if is_dry_run else "done"
        return self._app.bulk(
            self._action,
            ids=ids,
            query=query,
            priority=self._priority or None,
            reason=self._reason,
            is_dry_run=is_dry_run,
            progress=lambda count: self._context.progress(f"{plural(count, 'record')} {word}"),
        )

    def is_agreed(self, query: str) -> bool:
        would = self.bulk((), query, is_dry_run=True)
        return _is_agreed(self._context, self._verb, query, would, rest="would be refused")

    def show(self, bulk: "Bulk") -> Exit:
        if self._context.json:
            self._context.emit(bulk)
        else:
            self._write(bulk)
        return Exit.REFUSED if bulk.refused and not bulk.is_dry_run else Exit.OK

    def _write(self, bulk: "Bulk") -> None:
        would = "would be " if bulk.is_dry_run else ""
        done = {"retry": "retried", "cancel": "cancelled", "set-priority": "given a new priority"}[
            self._verb
        ]
        _write_by_status(bulk)
        write(f"{plural(bulk.matched, 'record')} matched; {bulk.applied:,} {would}{done}")
        for reason, count in bulk.refused.items():
            why = REFUSALS.get(reason, reason)
            write(f"{count:,} {would}refused: {why} (such as {', '.join(bulk.refused_examples)})")
        if bulk.note:
            self._context.say(bulk.note)


def _is_agreed(context: CliContext, verb: str, query: str, would: "Bulk", *, rest: str) -> bool:
    """Show what the query means now and ask; without a person to ask, refuse. `rest`: what becomes of the others."""
    from stateward.core.errors import InvalidRequest

    if not context.can_ask():
        raise InvalidRequest(
            f"{verb} would concern {plural(would.matched, 'record')} matching {query}; "
            "look with --dry-run, then say --yes"
        )
    statuses = ", ".join(f"{count:,} in {name}" for name, count in sorted(would.by_status.items()))
    context.say(f"{query} matches {plural(would.matched, 'record')}: {statuses or 'none'}")
    if others := would.matched - would.applied:
        context.say(f"of these {others:,} {rest}")
    return click.confirm(f"{verb} {plural(would.applied, 'record')}?", err=True)


def _write_by_status(bulk: "Bulk") -> None:
    if bulk.by_status:
        write_table(("status", "records"), sorted(bulk.by_status.items()))


@command(
    "advance",
    "stateward advance IN_01h2k3 --reason 'the sequencer is down'",
    "stateward advance --to-new-stages 'machine:invoices status:completed' --dry-run",
)
@click.argument("record_id", metavar="[ID]", required=False)
@option(
    "--to-new-stages QUERY",
    "All records that match and had ended, with the stages that their machine has grown since.",
    to="query",
)
@flag_option("--dry-run", "Only show how many records it would affect.")
@option("--reason TEXT", "Why; kept in the history.")
@flag_option("--yes", "Do not ask for confirmation.")
@pass_context
def advance(
    context: CliContext,
    *,
    record_id: str | None,
    query: str | None,
    dry_run: bool,
    reason: str | None,
    yes: bool,
) -> Exit:
    """Let records continue with their next stage.

    A record with an external driver is held before its next stage until that asks for it; with an
    ID this asks in its place. With --to-new-stages, records that rest in a status that was the last one go on with
    the stage that a newer version of their machine has after it.
    """
    if (record_id is None) == (query is None):
        raise click.UsageError("name a record or give --to-new-stages, not both")
    if query is not None:
        return _advance_to_new_stages(context, query, reason, is_dry_run=dry_run, is_agreed=yes)
    if dry_run:
        raise click.UsageError(
            "--dry-run goes with --to-new-stages; look with stateward explain ID"
        )
    assert record_id is not None  # noqa: S101 - one of the two is there
    with context.app() as app:
        record = app.advance(record_id, reason=reason)
    context.show(record_fields(record), message=f"{record.id} goes on from {record.status}")
    return Exit.OK


def _advance_to_new_stages(
    context: CliContext, query: str, reason: str | None, *, is_dry_run: bool, is_agreed: bool
) -> Exit:
    """Take on all that match and had ended, after showing how many that is."""
    from stateward.engine.system import person

    with context.local_app() as app:

        def bulk(*, is_dry_run: bool) -> "Bulk":
            return app.actions.advance_to_new_stages(
                app.records.query(query),
                actor=person(),
                reason=reason,
                is_dry_run=is_dry_run,
                progress=lambda count: context.progress(f"{plural(count, 'record')} looked at"),
            )

        found = bulk(is_dry_run=True)
        if not is_dry_run:
            if not is_agreed and not _is_agreed(
                context, "advance", query, found, rest="would stay"
            ):
                context.say("nothing was done")
                return Exit.INTERRUPTED
            found = bulk(is_dry_run=False)
    if context.json:
        context.emit(found)
        return Exit.OK
    would = "would go" if found.is_dry_run else "go"
    _write_by_status(found)
    write(
        f"{plural(found.matched, 'record')} matched; {found.applied:,} {would} on with a new stage"
    )
    if rest := found.matched - found.applied:
        write(f"{rest:,} stay: no stage follows their status, or it would have nothing to do")
    return Exit.OK


@command(
    "pause",
    "stateward pause invoices --stage parse --reason 'the parser is being mended'",
    "stateward pause invoices",
)
@click.argument("machine")
@option("--stage NAME", "Only this stage; otherwise all stages of the machine.", default="")
@option("--reason TEXT", "Why; `explain` shows it.")
@pass_context
def pause(context: CliContext, *, machine: str, stage: str, reason: str | None) -> None:
    """Pause a machine, or one of its stages.

    Work that has begun is finished; everything else waits until `stateward resume`.
    """
    with context.app() as app:
        app.pause(machine, stage=stage or None, reason=reason)
    context.show(
        {"machine": machine, "stage": stage or None, "is_paused": True},
        f"{_name_of(machine, stage)} is paused",
    )


@command("resume", "stateward resume invoices --stage parse", "stateward resume invoices")
@click.argument("machine")
@option("--stage NAME", "The stage that was paused; otherwise the whole machine.", default="")
@pass_context
def resume(context: CliContext, *, machine: str, stage: str) -> None:
    """Resume a paused machine or stage.

    Resume a stage if a stage was paused, and the machine if the machine was.
    """
    with context.app() as app:
        was_paused = app.resume(machine, stage=stage or None).was_paused
    context.show(
        {"machine": machine, "stage": stage or None, "is_paused": False, "was_paused": was_paused},
        f"{_name_of(machine, stage)} {'goes on' if was_paused else 'was not paused'}",
    )


def _name_of(machine: str, stage: str) -> str:
    return f"stage {stage} of {machine}" if stage else machine

"""`stateward reparse` and `reprocess`: documents read again, with what a person says about them, or by newer readers.

What can be said is declared by the pipelines; each hint is an option here.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import Command, command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit, problem
from stateward.cli.extensions import installed_plugins
from stateward.cli.output import plural, write
from stateward.cli.records import record_fields

if TYPE_CHECKING:
    from stateward.cli.apps import AppProtocol
    from stateward.core.model import Fields
    from stateward.definition.plugin import Hint
    from stateward.schemas import RereadAnswer, RereadRequest

SHOWN_MAX = 20
LINE_CHARS_MAX = 160
HINT = "hint_"
ASK = "ask_"


class _HintedCommand(Command):
    """A command with an option for every hint of the installed pipelines that is stored."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of the command, then those of the hints."""
        hints = [hint for hint in _hints() if not hint.is_secret]
        return [*super().get_params(ctx), *map(_option, hints)]


class _ReparseCommand(Command):
    """The command with an option for every hint of the installed pipelines."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of the command, then those of the hints."""
        hints = _hints()
        prompts = [_prompt(hint) for hint in hints if hint.is_secret]
        return [*super().get_params(ctx), *map(_option, hints), *prompts]


def _hints() -> list["Hint"]:
    found = {hint.name: hint for plugin in installed_plugins() for hint in plugin.hints}
    return list(found.values())


def _option(hint: "Hint") -> click.Option:
    name = hint.name.replace("_", "-")
    if hint.is_secret:
        kind = click.Path(exists=True, dir_okay=False, path_type=Path)
        return click.Option(
            [f"--{name}-file", HINT + hint.name], metavar="FILE", type=kind, help=hint.doc
        )
    if hint.choices:
        choice = click.Choice(hint.choices)
        return click.Option([f"--{name}", HINT + hint.name], type=choice, help=hint.doc)
    return click.Option([f"--{name}", HINT + hint.name], metavar="VALUE", help=hint.doc)


def _prompt(hint: "Hint") -> click.Option:
    name = hint.name.replace("_", "-")
    help_text = f"Ask for the {hint.name.replace('_', ' ')}, without showing it."
    return click.Option([f"--ask-{name}", ASK + hint.name], is_flag=True, help=help_text)


@command(
    "reparse",
    "stateward reparse IN_01h2k3 --dry-run",
    "stateward reparse IN_01h2k3 --reset --reason 'the hints were those of another file'",
    "stateward reparse --outdated --query 'machine:invoices'",
    cls=_ReparseCommand,
    is_listing=True,
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@option("--query QUERY", "All records that match this query, as in `stateward list`.")
@flag_option("--outdated", "Only what an older version of a reader read.")
@flag_option("--dry-run", "Show what would change, and store nothing.")
@flag_option("--reset", "Drop the hints of earlier corrections.")
@flag_option("--accept-flags", "Store a flagged result even in place of one that is not flagged.")
@flag_option("--remember", "Apply the hints to other documents of the same layout as well.")
@option("--reason TEXT", "Why, for the history.")
@option("--code CODE", "The reason code of the review that ends, where it has some.")
@pass_context
def reparse(
    context: CliContext,
    /,
    *,
    ids: tuple[str, ...],
    query: str | None,
    outdated: bool,
    dry_run: bool,
    reset: bool,
    accept_flags: bool,
    remember: bool,
    reason: str | None,
    code: str | None,
    **given: str | Path | bool | None,
) -> Exit:
    """Read documents again, or retry them, with other options.

    A finished record gets a new edition; what was read before stays (stateward items ID --edition 0), and every changed
    row is shown. A result that is no longer flagged leaves the queue. Hints of earlier corrections stay in force. A
    record that failed or is in review is processed as a new record with these options, and its review ends as rejected.
    The history says who changed which options.
    """
    from stateward.schemas import RereadRequest

    if bool(ids) == bool(query or outdated):
        raise click.UsageError("name records, or give --query or --outdated, not both")
    hints, secrets = _given_hints(given)
    request = RereadRequest(
        hints=hints,
        secrets=secrets,
        is_preview=dry_run,
        is_reset=reset,
        accept_flags=accept_flags,
        remember=remember,
        only_outdated=outdated,
        reason=reason,
        reason_code=code,
    )
    rows: list[dict[str, object]] = []
    worst = Exit.OK
    with context.app() as app:
        found = ids or tuple(each.id for each in app.find(query or ""))
        for record_id in found:
            row, ended = _reparse(context, app, record_id, request)
            rows += [] if row is None else [row]
            worst = max(worst, ended)
    if context.is_for_programs:
        context.emit_rows(rows)
    else:
        context.say(_summary([str(row["outcome"]) for row in rows], is_preview=dry_run))
    return worst


@command("reprocess", "stateward reprocess IN_01h2k3", cls=_HintedCommand)
@click.argument("record_id", metavar="ID")
@option("--reason TEXT", "Why; kept in the history.")
@pass_context
def reprocess(
    context: CliContext,
    /,
    *,
    record_id: str,
    reason: str | None,
    **given: str | Path | bool | None,
) -> None:
    """Process the document of a record that has ended again.

    Makes a new record that names the old one, which stays as it is; options apply to the new one. Find records that
    were not decided in time with `stateward list status:timed_out`. For a record that has not ended, such as one in
    review, use `stateward reparse`.
    """
    hints, _ = _given_hints(given)
    with context.app() as app:
        opened = app.reprocess(record_id, hints, reason=reason)
    context.show(
        {**record_fields(opened.record), "is_duplicate": opened.is_duplicate},
        opened.record.id,
        message="it was reprocessed before" if opened.is_duplicate else "it is processed again",
    )


def _given_hints(
    given: dict[str, str | Path | bool | None],
) -> tuple[dict[str, str], dict[str, str]]:
    """The hints that were given, and the secrets among them, which are read from files or asked for."""
    known = {hint.name: hint for hint in _hints()}
    hints: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for key, value in given.items():
        if key.startswith(ASK):
            if value:
                name = key.removeprefix(ASK)
                secrets[name] = click.prompt(name.replace("_", " "), hide_input=True, err=True)
            continue
        name = key.removeprefix(HINT)
        if value is None:
            continue
        if known[name].is_secret:
            secrets[name] = _first_line(Path(str(value)))
        else:
            hints[name] = str(value)
    return hints, secrets


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from error
    if not lines or not lines[0]:
        raise click.UsageError(f"the first line of {path} is empty")
    return lines[0]


def _reparse(
    context: CliContext, app: "AppProtocol", record_id: str, asked: "RereadRequest"
) -> tuple[dict[str, object] | None, Exit]:
    from stateward.core.errors import StatewardError, StoreError

    try:
        found = app.reread(record_id, asked)
    except StoreError:
        raise
    except StatewardError as error:
        context.say(f"refused {record_id}: {error}")
        return {
            "id": record_id,
            "outcome": "refused",
            "error": problem(error).plain(),
        }, Exit.REFUSED
    if found.is_skipped:
        return None, Exit.OK
    outcome = _outcome(found, is_preview=asked.is_preview)
    if not context.is_for_programs:
        _show(context, found, outcome)
    row: dict[str, object] = {
        "id": record_id,
        "outcome": outcome,
        "before": found.before,
        "after": found.after,
        "added": list(found.added),
        "removed": list(found.removed),
        "flags": list(found.flags),
        "successor": found.successor,
        "learned": list(found.learned),
        "error": None,
    }
    return row, Exit.FLAGGED if found.flags else Exit.OK


def _outcome(found: "RereadAnswer", *, is_preview: bool) -> str:
    if found.successor is not None:
        return "replaced"
    if not found.stage:  # it is processed anew: there is nothing to compare with
        return "readable"
    is_changed = found.added or found.removed or found.flags != found.former_flags
    return "unchanged" if not is_changed else "changed" if is_preview else "stored"


def _summary(outcomes: list[str], *, is_preview: bool) -> str:
    if not is_preview:
        return f"{plural(len(outcomes) - outcomes.count('refused'), 'record')} read again"
    words = {
        "changed": "would change",
        "unchanged": "would not change",
        "readable": "would be processed anew",
        "refused": "would be refused",
    }
    parts = [
        f"{plural(outcomes.count(each), 'record')} {outcome}"
        for each, outcome in words.items()
        if each in outcomes
    ]
    return f"nothing was stored: {', '.join(parts) or 'no record would be read again'}"


def _show(context: CliContext, found: "RereadAnswer", outcome: str) -> None:
    if found.successor is not None:
        context.say(
            f"replaced {found.record_id}: {found.successor} is processed with these options"
        )
        return
    before = plural(found.before, "row")
    sentence = {
        "readable": f"{found.record_id} would be processed anew, as another record",
        "changed": f"{found.record_id} would change: {before} now, {found.after:,} after it",
    }.get(outcome, f"{outcome} {found.record_id}: {before} before, {found.after:,} now")
    context.say(sentence + (f"; flagged: {', '.join(found.flags)}" if found.flags else ""))
    for name in found.learned:
        context.say(f"other documents with these columns will be read so, too: {name}")
    for sign, rows in (("-", found.removed), ("+", found.added)):
        for row in rows[:SHOWN_MAX]:
            write(f"{sign} {_line(row)}")
        if len(rows) > SHOWN_MAX:
            write(f"{sign} and {len(rows) - SHOWN_MAX} more")


def _line(row: "Fields") -> str:
    texts = [
        str(value)
        for key, value in row.items()
        if value and not isinstance(value, dict | list) and key != "id"
    ]
    return "  ".join(texts)[:LINE_CHARS_MAX]

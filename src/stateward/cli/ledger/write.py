"""Writing to a ledger: `stateward ledger init` and `append`, each move checked and durable when the command ends."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.ledger.options import json_object, ledger_argument, writing
from stateward.cli.output import plural

if TYPE_CHECKING:
    from stateward.core.errors import InvalidRequest
    from stateward.ledger import Ledger, LedgerEntry

BATCH_LINES = 1024
FIELDS = (
    "doc_id", "state", "old_state", "adapter", "actor", "error_type", "error_message", "traceback", "retry_count",
    "max_retries", "duration_seconds", "timestamp", "metadata", "extra",
)  # fmt: skip
"""Of a line of JSON: what is not one of these is a slip of the pen, and must not be dropped."""


@command("init", "stateward ledger init ledger/")
@ledger_argument
@pass_context
def init(context: CliContext, ledger_path: Path) -> None:
    """Create an empty ledger in a new or empty folder.

    A folder that is a ledger already stays as it is.
    """
    with writing(context, ledger_path, is_new=True) as found:
        count = found.last_seq
    context.show(
        {"ledger": str(ledger_path), "records": count},
        message=f"{ledger_path} is a ledger with {plural(count, 'record')}",
    )


@command(
    "append",
    "stateward ledger append ledger/ doc:123 pending --adapter pubmed",
    "stateward ledger append ledger/ --from moves.jsonl",
)
@ledger_argument
@click.argument("doc_id", required=False)
@click.argument("state", required=False)
@option("--adapter", "The program that changes the state.", default="")
@option("--actor", "Who asked for it; a person is person:NAME.")
@option("--error-type", "What kind of error it was.")
@option("--error-message", "What went wrong, in a sentence.")
@option("--metadata JSON", "Anything else, as a JSON object.")
@option(
    "--from FILE",
    "JSON lines with doc_id, state and other fields of a record; - is stdin.",
    to="source",
    type=click.Path(path_type=Path, allow_dash=True),
)
@pass_context
def append(
    context: CliContext, /, *, ledger_path: Path, doc_id: str | None, state: str | None, source: Path | None,
    **how: str | None,
) -> None:  # fmt: skip
    """Move a document, or many from a file of JSON lines.

    Each move is checked against the machine, and durable when the command ends. Of a file everything is written up to
    the first wrong line, which is named.
    """
    if (source is None) == (doc_id is None) or (source is None and state is None):
        raise click.UsageError("name a document and its state, or a file with --from")
    with writing(context, ledger_path) as found:
        if source is not None:
            count = _append_file(context, found, source)
        else:
            count = found.record_many(
                [_move(found, {"doc_id": doc_id, "state": state, **_given_fields(how)})]
            )
        last = found.last_seq
    context.show(
        {"appended": count, "last_seq": last},
        message=f"{plural(count, 'record')} appended; the ledger ends at seq {last:,}",
    )


def _given_fields(how: dict[str, str | None]) -> dict[str, object]:
    from stateward.core.errors import InvalidRequest

    fields: dict[str, object] = {name: value for name, value in how.items() if value}
    if "metadata" in fields:
        try:
            fields["metadata"] = json_object(str(fields["metadata"]))
        except InvalidRequest as error:
            raise click.BadParameter(f"--metadata is not JSON: {error}") from error
    return fields


def _append_file(context: CliContext, found: "Ledger", source: Path) -> int:
    from stateward.core.errors import StatewardError

    count = 0
    group: list[tuple[str, LedgerEntry]] = []
    stream = sys.stdin.buffer if str(source) == "-" else source.open("rb")
    with stream:
        for number, line in enumerate(stream, 1):
            if line.isspace():
                continue
            where = f"{source}, line {number}"
            try:
                group.append((where, _move(found, json_object(line))))
            except StatewardError as error:
                count += _append_group(found, group, count)
                raise _stop_error(where, error, count) from error
            if len(group) >= BATCH_LINES:
                count += _append_group(found, group, count)
                group = []
                context.progress(f"{count:,} records")
    return count + _append_group(found, group, count)


def _append_group(found: "Ledger", group: list[tuple[str, "LedgerEntry"]], before: int) -> int:
    """All of them in one group; if one is wrong, those before it, and its line is named."""
    from stateward.core.errors import InvalidRequest, InvalidTransition, StatewardError

    try:
        return found.record_many(entry for _, entry in group)
    except (InvalidTransition, InvalidRequest):
        for count, (where, entry) in enumerate(group):
            try:
                found.record_many([entry])
            except StatewardError as error:
                raise _stop_error(where, error, before + count) from error
        return len(group)


def _stop_error(where: str, error: Exception, count: int) -> "InvalidRequest":
    from stateward.core.errors import InvalidRequest

    return InvalidRequest(f"{where}: {error}; appended before it: {plural(count, 'record')}")


def _move(found: "Ledger", fields: dict[str, object]) -> "LedgerEntry":
    """One requested move as a `LedgerEntry`."""
    import msgspec

    from stateward.core.errors import InvalidRequest
    from stateward.ledger import DOCUMENT_MACHINE, LedgerEntry, LedgerState

    unknown = sorted(fields.keys() - FIELDS)
    if unknown:
        raise InvalidRequest(f"there is no field {unknown[0]!r}; there are: {', '.join(FIELDS)}")
    try:
        entry = msgspec.convert(fields, LedgerEntry)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from error
    if found.machine is DOCUMENT_MACHINE:
        try:
            entry = msgspec.structs.replace(entry, state=LedgerState(entry.state))
        except ValueError:
            known = ", ".join(LedgerState)
            raise InvalidRequest(f"there is no state {entry.state!r}; there are: {known}") from None
    return entry


COMMANDS: tuple[click.Command, ...] = (init, append)

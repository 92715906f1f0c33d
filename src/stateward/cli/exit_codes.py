"""How a command ends: the exit codes, and the one sentence that every error becomes.

The numbers and their meaning stand here and nowhere else; `stateward --help` and the reference page
print them. No error that was foreseen may reach a person as a traceback.
"""

import errno
from enum import IntEnum
from typing import TypeAlias

import click

DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})

Details: TypeAlias = dict[str, object]


class Exit(IntEnum):
    """An exit code and what it means."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "Exit":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "done"
    FOUND_PROBLEMS = (
        1,
        "it ran and found problems: verify, doctor, ledger stuck, submit --wait and others",
    )
    USAGE = 2, "usage error: an unknown command or option, or a wrong value"
    UNKNOWN = 3, "there is no such record, document, machine, stage, status, snapshot or priority"
    REFUSED = 4, "refused: an invalid request, transition, declaration or settings file"
    CONFLICT = (
        5,
        "conflict: another process or person has changed the record, or writes to the ledger; try again",
    )
    STORE = 6, "the database cannot be reached, or is not a Stateward database"
    DISK_FULL = 7, "the disk is full or failing; nothing was half-written"
    TIMED_OUT = 8, "timed out"
    FLAGGED = 9, "it finished, but a result is flagged as wrong or incomplete: submit --wait, eval"
    INTERNAL = 70, "a bug in Stateward; the sentence says where the traceback is"
    INTERRUPTED = 130, "interrupted"
    BROKEN_PIPE = 141, "the reader of the output closed it"


class Problem:
    """An error as a context shows it: how to end, a word for programs, a sentence for people."""

    def __init__(
        self, exit_code: Exit, code: str, message: str, details: Details | None = None
    ) -> None:
        self.exit = exit_code
        self.code = code
        self.message = message
        self.details = details or {}

    @property
    def lines(self) -> list[str]:
        """A line for each fault of a declaration; of anything else one line."""
        faults = self.details.get("faults")
        return [str(fault) for fault in faults] if isinstance(faults, list) else [self.message]

    def plain(self) -> Details:
        """As JSON has it."""
        return {"code": self.code, "message": self.message, **self.details}


def problem(error: BaseException) -> Problem:
    """What any error means to the user of the command."""
    from stateward.core.errors import StatewardError

    if isinstance(error, ImportError):
        from stateward.extras import missing_extra

        error = missing_extra(error) or error
    match error:
        case StatewardError():
            return _foreseen(error)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx is not None else "stateward"
            return Problem(Exit.USAGE, "usage", f"{_usage(error)} see {path} --help")
        case click.ClickException():
            return Problem(Exit.REFUSED, "refused", error.format_message())
        case click.Abort() | KeyboardInterrupt() | EOFError():
            return Problem(Exit.INTERRUPTED, "interrupted", "interrupted")
        case OSError(errno=number) if number in DISK_FULL_ERRNOS:
            return Problem(
                Exit.DISK_FULL, "disk_full", f"{_where(error)}; free some space and try again"
            )
        case OSError(filename=name) if name is not None:
            return Problem(Exit.REFUSED, "os_error", _where(error))
        case _:
            return _bug(error)


def _usage(error: click.UsageError) -> str:
    """What click says of a wrong call, on one line: it puts each of several choices on a line of its own."""
    message = error.format_message().replace(". Choose from:", ": one of").rstrip(".")
    line = " ".join(message.split())
    return line if line.endswith("?") else f"{line};"


def _foreseen(error: Exception) -> Problem:
    from stateward.core import errors

    exits = {
        errors.UnknownName: Exit.UNKNOWN,
        errors.ConcurrentModification: Exit.CONFLICT,
        errors.ReviewTaken: Exit.CONFLICT,
        errors.StoreFull: Exit.DISK_FULL,
        errors.StoreError: Exit.STORE,
        errors.TransportError: Exit.STORE,
        errors.ArtifactError: Exit.STORE,
        errors.LedgerLocked: Exit.CONFLICT,
        errors.LedgerPoisoned: Exit.DISK_FULL,
        errors.StatewardError: Exit.REFUSED,
    }
    exit_code = next(exits[kind] for kind in type(error).__mro__ if kind in exits)
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRNOS:
        exit_code = Exit.DISK_FULL
    return Problem(exit_code, _snake(type(error).__name__), str(error), _details(error))


def _details(error: Exception) -> Details:
    from stateward.core import errors

    match error:
        case errors.InvalidTransition():
            return {
                "record_id": error.record_id,
                "expected": error.expected,
                "found": error.found,
                "allowed": list(error.allowed),
            }
        case errors.ReviewTaken():
            return {"record_id": error.record_id, "by": error.by, "until": error.until}
        case errors.InvalidCorrection():
            return {"record_id": error.record_id, "errors": dict(error.faults)}
        case errors.DeclarationError():
            return {"faults": list(error.faults)}
        case errors.LedgerDamaged():
            return {"findings": list(error.findings)}
        case errors.UnknownName():
            return {"what": error.what, "name": error.name}
        case errors.MissingExtra():
            return {"module": error.module, "extras": list(error.extras)}
    return {}


def _where(error: OSError) -> str:
    name = error.filename
    subject = f"cannot use {name}" if name is not None else "cannot write"
    return f"{subject}: {error.strerror or error}"


def _bug(error: BaseException) -> Problem:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w",
        prefix="stateward-",
        suffix=".txt",
        delete=False,
        encoding="utf-8",
        errors="backslashreplace",
    ) as file:
        file.write(text)
    sentence = (
        f"this is a bug in Stateward ({type(error).__name__}: {error}); "
        f"please report it with {file.name}, which says where it happened"
    )
    return Problem(Exit.INTERNAL, "internal_error", sentence, {"traceback": file.name})


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")

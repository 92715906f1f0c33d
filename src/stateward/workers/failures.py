"""What a runner's exception means: whether to try again, the failure that it makes, and what the log shows."""

import errno
import os
import socket
import sys
import traceback
from pathlib import Path

from msgspec.structs import replace

from stateward.core.errors import (
    ArtifactChanged,
    ArtifactError,
    StageFailure,
    TransientFailure,
)
from stateward.core.model import Fields, Work, clean_text
from stateward.core.retry import RETRY_AFTER, retry_after_s
from stateward.extras import missing_extra
from stateward.workers.attempt_log import LINE_CHARS_MAX, Log
from stateward.workers.child_role import is_child
from stateward.workers.results import KIB, Failed, Limits

CODE_CHARS_MAX = 100
RUNNER_MISSING = "RUNNER_NOT_LOADED"
OURS = f"{Path(__file__).parent}/"  # frames of the SDK say nothing about a runner
TRACEBACK_CHARS_MAX = 8 * KIB
TRACEBACK_FRAMES_MAX = 40  # the innermost ones; endless recursion would bring a thousand
CAUSES_MAX = 10  # errors that were raised while others were handled
# What a failing disk, a busy machine and a network do. A missing file or permission does not come back
# within the seconds that a try inside an attempt waits.
TRANSIENT_ERRNOS = frozenset({
    errno.EIO, errno.EAGAIN, errno.EINTR, errno.EBUSY, errno.ENOBUFS, errno.ESTALE, errno.ETIMEDOUT,
    errno.ECONNRESET, errno.ECONNREFUSED, errno.ECONNABORTED, errno.EPIPE, errno.ENETDOWN,
    errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, socket.EAI_AGAIN,
})  # fmt: skip
# The network errors of requests, httpx and urllib3 are no relatives of the built-in ones, and
# none of these libraries is ours to import: they are known by the names of their classes.
TRANSIENT_NAMES = frozenset({"ConnectionError", "TimeoutError", "Timeout", "TransportError"})
# By the package in which a runner met what the sandbox forbids: what is wrong, and what to do about it.
FORBIDDEN = {
    "multiprocessing": "a stage has no memory or locks that processes share, so `multiprocessing` and process pools do "
    "not work in it; use threads (`concurrent.futures.ThreadPoolExecutor`), or let the worker run several documents "
    "at once (`worker.processes`)",
    "subprocess": "a stage executes only the programs that it declares, here `exec: [{program}]`",
    "socket": "a stage opens no connection unless it declares `network: true`",
}
FORBIDDEN_FILE = (
    "a runner reads its document, installed libraries and the code of the pipelines, and writes in `job.scratch`; "
    "`worker.readable` of the settings names other files that it may read"
)
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = range(500, 600)


def is_transient(error: BaseException) -> bool:
    """Whether an error is transient: the same call may succeed in a moment.

    What the runner says itself (`StageFailure`) comes first. An HTTP status comes before the class of
    the error, because it says more.
    """
    if isinstance(error, StageFailure):
        return isinstance(error, TransientFailure)
    status = _http_status(error)
    if status is not None:
        return status == TOO_MANY_REQUESTS or status in SERVER_ERRORS
    if any(kind.__name__ in TRANSIENT_NAMES for kind in type(error).__mro__):
        return True
    return isinstance(error, OSError) and _is_transient_os_error(error)


def _http_status(error: BaseException) -> int | None:
    for holder in (error, attribute_of(error, "response")):
        for name in ("status_code", "status"):
            status = attribute_of(holder, name)
            if isinstance(status, int):
                return status
    return None


def _is_transient_os_error(error: OSError) -> bool:
    reason = attribute_of(error, "reason")  # urllib wraps what really happened
    inner = reason if isinstance(reason, OSError) else error
    return isinstance(inner, ConnectionError | TimeoutError) or inner.errno in TRANSIENT_ERRNOS


def attribute_of(holder: object, name: str) -> object:
    """An attribute of a foreign object, or None; reading it may run foreign code, which may raise."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign exception
        return None


def describe(error: BaseException) -> str:
    """`TypeError: its message`; never raises, whatever the exception's `__str__` does."""
    name = type(error).__name__
    try:
        text = str(error)[:LINE_CHARS_MAX]
    except BaseException:  # noqa: BLE001 - a foreign __str__
        text = "(its text cannot be shown)"
    return f"{name}: {text}" if text else name


def to_failure(error: BaseException, limits: Limits) -> Failed:
    """The failure that an error makes of an attempt, with texts that can be stored."""
    failed = _verdict(error, limits)
    return replace(
        failed,
        code=clean_text(failed.code, chars_max=CODE_CHARS_MAX),
        message=clean_text(failed.message, chars_max=limits.message_chars_max),
    )


def _verdict(error: BaseException, limits: Limits) -> Failed:
    if isinstance(error, StageFailure):
        message = describe(error).removeprefix(f"{type(error).__name__}: ")
        code = f"{attribute_of(error, 'code')}"
        facts: Fields = {RETRY_AFTER: attribute_of(error, "retry_after_s")}  # type: ignore[dict-item]
        return Failed(
            code=code,
            message=message,
            is_retryable=error.is_retryable is True,
            retry_after_s=retry_after_s(facts),
        )
    if isinstance(error, ImportError) and (missing := missing_extra(error)):
        return Failed(code="MISSING_EXTRA", message=str(missing), is_retryable=True)
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        message = f"ran out of memory; the limit is {limits.memory_bytes} bytes"
        return Failed(code="MEMORY_LIMIT", message=f"{message} (worker.memory_bytes)")
    if number == errno.EFBIG:
        message = f"wrote a file of more than {limits.file_bytes} bytes (worker.file_bytes)"
        return Failed(code="FILE_LIMIT", message=message)
    if not isinstance(error, Exception):
        message = f"the runner left with {describe(error)}; it must return or raise an Exception"
        return Failed(code="RUNNER_EXITED", message=message)
    return Failed(code="EXCEPTION", message=describe(error) + _forbidden(error))


def _forbidden(error: BaseException) -> str:
    """What the sandbox forbids and what to do about it, where that may be why; "" elsewhere."""
    if not (is_child() and isinstance(error, PermissionError)):
        return ""
    met = {
        str(frame.f_globals.get("__name__", "")).partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
    }
    why = next((said for package, said in FORBIDDEN.items() if package in met), None)
    if why is None:
        why = FORBIDDEN_FILE if error.filename else ""
    program = os.path.basename(str(error.filename))  # noqa: PTH119 - a text
    return f"; {why.format(program=program)}" if why else ""


def log_failure(book: Log, error: BaseException, failed: Failed) -> None:
    try:
        if isinstance(error, MemoryError):
            # Frees what the runner held: the log needs memory too.
            traceback.clear_frames(error.__traceback__)
        text = _traceback(error)
    except BaseException:  # noqa: BLE001 - foreign objects are asked for their text
        text = "the traceback cannot be shown"
    facts = {"code": failed.code, "traceback": text} if text else {"code": failed.code}
    book.write("error", failed.message, facts)


def _traceback(error: BaseException) -> str:
    """The traceback from the runner's own first line on; empty if the SDK itself raised the error."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(OURS):
        frames = frames.tb_next
    if frames is None:
        return ""
    trace = traceback.TracebackException(
        type(error), error, frames, limit=-TRACEBACK_FRAMES_MAX, compact=True
    )
    _shorten_paths(trace)
    text = "".join(trace.format())
    return text if len(text) <= TRACEBACK_CHARS_MAX else "…" + text[-TRACEBACK_CHARS_MAX:]


def _shorten_paths(rest: traceback.TracebackException) -> None:
    """Name files as they are imported: a log tells its reader nothing of the folders of this machine."""
    roots = sorted((root for root in sys.path if root), key=len, reverse=True)
    for _ in range(CAUSES_MAX):
        for frame in rest.stack:
            _ = frame.line  # read while the path still leads to it
            inside = (root for root in roots if frame.filename.startswith(f"{root}/"))
            root = next(inside, os.path.dirname(frame.filename))  # noqa: PTH120 - a text
            frame.filename = frame.filename.removeprefix(root).lstrip("/")
        following = rest.__cause__ or rest.__context__
        if following is None:
            return
        rest = following


def unusable_document(error: ArtifactError) -> Failed:
    """The result of an attempt whose document is gone, which may be mended, or is another one, which is not retried."""
    is_changed = isinstance(error, ArtifactChanged)
    code = "ARTIFACT_CHANGED" if is_changed else "ARTIFACT_MISSING"
    return Failed(code=code, message=str(error), is_retryable=not is_changed, log="")


def missing_runner(work: Work) -> Failed:
    """Retryable: another worker may have the runner, or the settings are corrected by the next attempt."""
    message = f"no runner {work.runner!r} is loaded here; name its pipeline in the settings"
    return Failed(code=RUNNER_MISSING, message=message, is_retryable=True, log="")

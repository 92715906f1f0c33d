"""What a client of the HTTP API does, as steps: what to send, how long to wait, what to make of an answer.

A generator yields what is to be done (`Call`, `Stream`, a pause in seconds, `Rows` for who listens) and is sent its
result. It touches no network, so that one definition serves a client that blocks and one on asyncio; they differ in
nothing but how a step is done. It must never sleep or send by itself.
"""

import io
import random  # noqa: TID251 - jitter of a client: how long it waits decides nothing
import ssl
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar
from urllib.parse import quote

from stateward.extras import missing_extra

try:
    import httpx2
except ModuleNotFoundError as error:
    raise (missing_extra(error) or error) from error
import msgspec

from stateward import schemas
from stateward.core.errors import StatewardError

TRIES_MAX = 5
PAUSE_S = 0.25
PAUSE_MAX_S = 8.0
RETRY_AFTER_MAX_S = 60.0
TIMEOUT_S = 30.0
POLL_S = 20.0
AGAIN = frozenset({429, 502, 503, 504})
ANYTHING = {"Accept": "*/*"}

T = TypeVar("T")
Source = Path | str | bytes | IO[bytes]


class ApiProblem(StatewardError):
    """A request that the server did not do; `problem` says why."""

    def __init__(self, problem: schemas.Problem) -> None:
        self.problem = problem
        super().__init__(problem.detail)

    @property
    def kind(self) -> str:
        """The word that names the problem, such as `duplicate`."""
        return self.problem.type.removeprefix(schemas.PROBLEM_PREFIX)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status


class ServerUnreachable(StatewardError):
    """No answer came, however often it was asked for."""


# The steps


class Call(NamedTuple):
    """A request whose answer is read whole; what comes back is the answer, or why there is none."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    url: str
    params: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    content: bytes | None = None
    data: Mapping[str, str] | None = None
    files: Mapping[str, Any] | None = None


class Stream(NamedTuple):
    """A request whose answer is read piece by piece; what `feed` makes of each goes to who listens.

    What comes back is None at its end, the link that the server leads to, or why it was cut. A link is to object
    storage: it is opened without our key, which is not meant for that server.
    """

    path: str
    feed: Callable[[Any], Iterable[Any]]
    is_lines: bool
    params: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = ANYTHING
    is_link: bool = False
    is_endless: bool = False

    def request(self) -> dict[str, Any]:
        """What a client is asked to stream."""
        arguments: dict[str, Any] = {"url": self.path, "params": self.params}
        if self.is_endless:  # it says something at least as often as this
            arguments["timeout"] = httpx2.Timeout(TIMEOUT_S, read=2 * POLL_S)
        # A link has a signature of its own, and no business with our headers.
        return arguments if self.is_link else {**arguments, "headers": self.headers}


class Rows(NamedTuple):
    """Results for who listens."""

    rows: Iterable[Any]


# What ends with one result, and what gives rows on the way. A number is a pause in seconds.
Steps: TypeAlias = Generator[Call | float, Any, T]
Listing: TypeAlias = Generator[Call | Stream | Rows | float, Any, None]


def patiently(
    call: Call, *, tries: int, url: str, restart: Callable[[], object] | None = None
) -> Steps[httpx2.Response]:
    """Send until there is an answer that another try would not better; `restart` goes before each try."""
    for number in range(1, tries + 1):
        is_last = number == tries
        if restart is not None:
            restart()
        answer: httpx2.Response | httpx2.TransportError = yield call
        if isinstance(answer, httpx2.TransportError):
            if is_last:
                raise unreachable(url, answer) from answer
            yield pause(number, None)
            continue
        if answer.status_code < 400:
            return answer
        if is_last or not (answer.status_code in AGAIN or _kind(answer) == "in-progress"):
            refuse(answer)
        yield pause(number, answer.headers.get("Retry-After"))
    raise AssertionError("unreachable")


def send_once(call: Call, *, url: str) -> Steps[httpx2.Response]:
    """Send once; the answer, whatever its status says of the service."""
    answer: httpx2.Response | httpx2.TransportError = yield call
    if isinstance(answer, httpx2.TransportError):
        raise unreachable(url, answer) from answer
    return answer


def unreachable(url: str, error: httpx2.TransportError) -> ServerUnreachable:
    """That no answer came, and what to look at."""
    return ServerUnreachable(
        f"no answer from {url} ({type(error).__name__}); see that the service runs: stateward up"
    )


def pause(number: int, retry_after: str | None) -> float:
    """How long to wait before the next try: what the server says, else twice as long each time, with jitter."""
    if retry_after is not None and retry_after.isdecimal():
        return min(float(retry_after), RETRY_AFTER_MAX_S)
    longest = min(PAUSE_S * float(2 ** (number - 1)), PAUSE_MAX_S)
    jitter: float = random.random()  # noqa: S311 - no secret
    return longest / 2 * (1 + jitter)


def lines() -> Callable[[str], Iterable[bytes]]:
    """What makes bytes of each line again."""
    return lambda line: (line.encode() + b"\n",)


def stream_pages(stream: Stream) -> Listing:
    """A stream to its end, also where it leads to a link; one that is cut is an error."""
    ended = yield stream
    if isinstance(ended, str):
        ended = yield stream._replace(path=ended, params=None, is_link=True)
    if isinstance(ended, httpx2.TransportError):
        raise ended


def follow_changes(after: int | None, machine: str | None) -> Listing:
    """Changes of status as they come; a stream that is cut is taken up where it was."""
    seq = after

    def feed(line: str) -> Iterator[schemas.Transition]:
        nonlocal seq
        if line.startswith("data: "):
            event = msgspec.json.decode(line[6:], type=schemas.Transition)
            seq = event.seq
            yield event

    while True:
        headers = {"Accept": "text/event-stream"}
        if seq is not None:
            headers["Last-Event-ID"] = str(seq)
        path, given = "/events/stream", given_parameters(machine=machine)
        ended = yield Stream(
            path, feed, is_lines=True, params=given, headers=headers, is_endless=True
        )
        if isinstance(ended, httpx2.TransportError) and seq is None:
            raise ended
        yield PAUSE_S


# Answers


def read(answer: httpx2.Response, type_: type[T]) -> T:
    """The document of an answer."""
    try:
        return msgspec.json.decode(answer.content, type=type_)
    except msgspec.MsgspecError as error:
        raise ServerUnreachable(
            f"{answer.request.url.copy_with(query=None)} gave an answer that is not Stateward's: {error}"
        ) from error


def refuse(answer: httpx2.Response) -> NoReturn:
    """Raise what an answer says that went wrong."""
    problem = problem_of(answer)
    if problem is None:
        message = (
            f"the server answered {answer.status_code}, not as Stateward does; look at its address"
        )
        problem = schemas.Problem(
            type="about:blank", title="", status=answer.status_code, detail=message
        )
    raise ApiProblem(problem)


def _kind(answer: httpx2.Response) -> str:
    problem = problem_of(answer)
    return "" if problem is None else problem.type.removeprefix(schemas.PROBLEM_PREFIX)


def problem_of(answer: httpx2.Response) -> schemas.Problem | None:
    """The problem that an answer tells of; None if it tells of none."""
    if answer.headers.get("Content-Type", "").partition(";")[0] != schemas.PROBLEM_JSON:
        return None
    try:
        return msgspec.json.decode(answer.content, type=schemas.Problem)
    except msgspec.MsgspecError:
        return None


# Requests


def connection_options(url: str, key: str | None, timeout_s: float) -> dict[str, Any]:
    """How a client of httpx2, of either kind, reaches the service, and what each of its requests carries."""
    headers = {"Accept": "application/json", "User-Agent": "stateward-client"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return {
        "base_url": url,
        "headers": headers,
        "timeout": timeout_s,
        "follow_redirects": False,
        "verify": tls_context(url),
    }


def tls_context(url: str) -> ssl.SSLContext:
    """What checks the service's certificate; without TLS nothing, for reading all certificates takes 0.05 s."""
    if url.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.create_ssl_context()


def new_key() -> str:
    """A name for a request, by which it is done once."""
    return uuid.uuid4().hex  # noqa: TID251 - a client names its own requests


@contextmanager
def open_source(source: Source) -> Iterator[tuple[str, IO[bytes]]]:
    """The name and the bytes of what is to be sent."""
    if isinstance(source, bytes):
        yield "document", io.BytesIO(source)
    elif isinstance(source, str | Path):
        with Path(source).open("rb") as file:
            yield Path(source).name, file
    else:
        yield Path(str(getattr(source, "name", "document"))).name, source


def form_fields(
    *, labels: Mapping[str, str] | None, priority: int | str | None, **given: str | None
) -> dict[str, str]:
    """The fields of a form."""
    found = {key: value for key, value in given.items() if value is not None}
    if priority is not None:
        found["priority"] = str(priority)
    return {**found, **{f"label.{key}": value for key, value in (labels or {}).items()}}


def given_parameters(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a parameter may be
    """The parameters of a query that are said."""
    return {key: value for key, value in given.items() if value not in (None, [])}


def part(text: str) -> str:
    """A part of a path: what is in it stays in it."""
    return quote(text, safe="")

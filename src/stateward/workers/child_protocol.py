"""What a worker and the child process of a runner say to each other: every message, in both directions.

A channel is a socket with frames of JSON, each after its length in four bytes. The first frame is the worker's `Hello`;
the child says `Ready`, and then each `Order` is answered with `Items` and `Done`, or with `Fault`. Several jobs may be
sent ahead; a permit for each comes through a pipe of its own, which the worker can also read: a job whose permit it
took back is never begun. A job may ask for saved values and files (`Request`, `RequestReply`). Log lines (`Line`) go
through a pipe that the worker is not woken by: it reads them with the answer, or when the process has died.

The worker trusts none of what a child sends: lengths are bounded before a frame is collected, and what fits no message
ends the child.
"""

from typing import TypeAlias

import msgspec

from stateward.core.files import DerivedFile
from stateward.core.model import EarlierItems, Fields
from stateward.workers.confinement import Grants
from stateward.workers.results import Limits

NOT_LOADED = "RUNNER_NOT_LOADED"
HEADER_BYTES = 4
PERMIT_BYTES = 4
PERMITS_BYTES = 64 * 1024  # all that a pipe holds
# Exit codes that neither Python (1, 2, 120) nor a shell (126 and up) uses. A runner can fake them, but that changes
# only the code of its own failure.
EXIT_MEMORY, EXIT_CHANNEL = 112, 113


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """What a child must know before its first job; the first frame on the channel.

    Limits and grants are fixed for the life of the process: what it gives up cannot be regained.
    """

    imports: tuple[str, ...]
    limits: Limits
    is_confined: bool
    grants: Grants
    main_module: str | None = None
    main_path: str | None = None
    main_fault: str | None = None
    """Why the worker's own script cannot be imported again."""


class Order(msgspec.Struct, frozen=True, kw_only=True, tag="order"):
    """One job. `items` are its inputs, if they are small; else as many frames follow as `inputs` counts, by stage.

    Every answer carries the `number` of its job: what a thread of an earlier job still sends is
    never taken for an answer to this one.
    """

    number: int
    runner: str
    record_id: str
    stage: str
    attempt: int
    retry_count: int
    labels: Fields
    artifact_path: str | None
    inputs: dict[str, int]
    timeout_s: float
    options: Fields = {}
    items: dict[str, list[msgspec.Raw]] = {}
    earlier: EarlierItems | None = None


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The pipelines are loaded and the confinement is on; `layers` are the parts that hold.

    Imports that failed are not reported here: each job that needs them fails with the reason.
    """

    layers: tuple[str, ...]


class Line(msgspec.Struct, frozen=True, kw_only=True, tag="line"):
    """A line for the log of the job. `at` is when it was written, on the monotonic clock of the machine."""

    number: int
    level: str
    message: str
    facts: Fields
    at: float


class Items(msgspec.Struct, frozen=True, kw_only=True, tag="items"):
    """A chunk of items. They come when the attempt has succeeded, before `Done`.

    Not earlier: a try that is repeated inside the attempt must leave no items behind.
    """

    number: int
    count: int
    items: msgspec.Raw


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The job is over and succeeded. Its derived files lie in the scratch folder, the first under the name `0`.

    `is_stopped`: this process begins no other job before the worker has looked at it, because the job saved files,
    printed something or left processes behind, or because this process `is_swollen`: what libraries keep has taken half
    of the memory of the next job, which therefore gets a fresh process. `seconds` is how long the job took, for the
    estimate of how many to send ahead. `has_lines`: some of its log is in the pipe of lines.
    """

    number: int
    outcome: str
    facts: Fields
    count: int
    files: tuple[DerivedFile, ...] = ()
    is_stopped: bool = False
    is_swollen: bool = False
    has_lines: bool = False
    seconds: float = 0.0


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """The job is over and failed; after it this process always waits for the worker, as after `Done.is_stopped`."""

    number: int
    code: str
    message: str
    is_retryable: bool
    retry_after_s: float = 0.0
    has_lines: bool = False
    seconds: float = 0.0


class SaveValue(msgspec.Struct, frozen=True, kw_only=True, tag="save"):
    """A value to save for later attempts; the job waits until it is durable, so that a crash cannot lose it."""

    number: int
    name: str
    data: bytes


class LoadValue(msgspec.Struct, frozen=True, kw_only=True, tag="load"):
    """A request for the value that was saved under a name."""

    number: int
    name: str


class FindFile(msgspec.Struct, frozen=True, kw_only=True, tag="find"):
    """A request for the path of a derived file of an earlier stage."""

    number: int
    stage: str
    name: str


Request: TypeAlias = SaveValue | LoadValue | FindFile
REQUESTS = (SaveValue, LoadValue, FindFile)


class RequestReply(msgspec.Struct, frozen=True, kw_only=True, tag="reply"):
    """The worker's reply to a request: a saved value, or a path; `error` is empty when it succeeded."""

    data: bytes | None = None
    error: str = ""


Reply: TypeAlias = Ready | Line | Items | Done | Fault | Request


def frame(payload: bytes) -> bytes:
    """A payload with its length before it: JSON alone does not say where it ends."""
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload

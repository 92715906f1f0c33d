"""The worker's side of the sandbox: warm child processes that run one job after another.

A `Child` is driven by a loop that sleeps on `watched()` until `deadline` and then calls `on_ready`
and `expire`. No method waits for the child (reads and writes do what is possible at once), because
one thread serves all children and the heartbeats. Nothing that comes from a child is believed before
it is checked: the runner may have been taken over by the document that it parses. However an attempt
ends, it ends in one `Result`; a child that breaks the protocol or a limit, or crashes, is killed
with all that it started. A child must never get a secret, the worker's environment, or a descriptor
that it has no use for.

A child that is used up (its jobs are counted, a limit was hit, it left processes behind) is closed
with the job that used it up: the loop sees `is_dead` and spawns another. Code that a hostile
document plants in a child can see the documents that come after it there, so a worker gives a child
documents of one owner only (`recycle`). No other document can be read there: each file that a job needs
is put into the input folder of its child, and taken out when the job is over (`inputs`).

Quick jobs are sent several at a time, so that one wake-up of either process serves many of them. They
run one after another, and each is answered before the next begins: the first one without an answer
is the one that runs. What was sent ahead can be taken back (`recall`) until the child begins it. A
child stops by itself after a job that failed, saved files, printed something or left processes, so
that these are told from what the next job does; nothing is sent ahead behind such jobs for a while.

Four things connect a worker with a child:

    channel  socket pair, both ways   frames of JSON: orders out, log lines, items and results in
    permits  pipe, worker to child    the number of each job that may begin; the worker can read it too
    output   pipe, child to worker    stdout and stderr of the runner, for the log
    status   pipe, child to worker    from the supervisor: the runner's wait status, once
"""

import contextlib
import fcntl
import json
import math
import os
import selectors
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward.core.errors import ArtifactError, InvalidRequest, StoreError
from stateward.core.files import DerivedFile, file_fault, name_fault
from stateward.core.model import Fields, Micros, clean_text
from stateward.workers import child_main as inside
from stateward.workers import confinement, processes
from stateward.workers.confinement import Grants
from stateward.workers.inputs import FILE_BYTES_LEAST, InputFolder, scratch_size
from stateward.workers.sdk import (
    ABOUT_BYTES_MAX,
    CHUNK_BYTES_MAX,
    CHUNK_ITEMS_MAX,
    CODE_CHARS_MAX,
    DERIVED_FOLDER,
    FACTS_BYTES_MAX,
    KEY_CHARS_SHOWN_MAX,
    KIB,
    LABEL_CHARS_MAX,
    LINE_CHARS_MAX,
    NUL_ESCAPED,
    PIECE_BYTES,
    SAVED_BYTES_MAX,
    SAVED_NAME_CHARS_MAX,
    AttemptLog,
    Chunks,
    Completed,
    Died,
    Failed,
    Limits,
    Result,
    SavedValues,
    UnsavedValues,
    cleaned,
    empty_folder,
)

MAIN = "__main__"
# Loading is not part of a stage's timeout: a stage of 1 s may need libraries that take 10 s to import. But an import
# that hangs must end in a result as well.
LOAD_S_MAX = 60.0
# How often the processes of a job are counted. In between, RLIMIT_NPROC stops a fork bomb.
CHECK_S = 0.25
# Looking at a scratch folder may take up this share of the time between two looks at most: 1 / (1 + LOOK_SHARE).
LOOK_SHARE = 20.0
# The channel of a process that dies ends a moment before its supervisor reports the status, which says more. A
# runner that closed the channel on purpose has no more time than this.
SILENCE_S_MAX = 1.0
READ_BYTES = 64 * KIB  # what a pipe holds on Linux unless it was enlarged
# Reads from one child before the others get their turn.
READS_MAX = 16
# As much as those reads take, so that after a job's last message one drain finds all that it printed. 1 MiB is also
# the most that Linux grants a pipe of an unprivileged process by default.
PIPE_BYTES = READS_MAX * READ_BYTES
# A job that writes without end in small pieces would wake the loop for each of them. After so many
# small reads its descriptors are left alone for PACE_S at a time, so that pieces come together.
SMALL_READS_MAX = 50
PACE_S = 0.005
# How many jobs are sent at once, and how long they may take together by the estimate: a job of higher priority, or one
# that another child could run, waits for them.
BATCH_MAX = 64
BATCH_S = 0.02
# The jobs behind one that takes this long are taken back: they are not quick, or not after this one.
RECALL_S = 0.05
# How often a batch is looked at while its last job has not begun: an answer alone does not wake the worker.
PEEK_S_MIN, PEEK_S_MAX = 0.001, 0.01
# The weight of the newest job in the estimate of how long jobs take.
NEWEST_SHARE = 0.2
# Inputs up to this size travel in their order: only such jobs are sent ahead.
SMALL_INPUT_CHARS = 64 * KIB
SEND_BYTES = 64 * KIB
# For what a frame holds besides one chunk or item: the JSON around it, or a whole log line (its facts
# alone may have LINE_BYTES_MAX).
FRAME_SLACK_BYTES = 256 * KIB
# Each request is a query or a commit that the worker's loop waits for: a job must not keep it busy with them.
REQUESTS_MAX = 1000
BROKE_PROTOCOL = "RUNNER_BROKE_PROTOCOL"
RUNNER_DIED = "RUNNER_DIED"
FILES_NOT_STORED = "FILES_NOT_STORED"
# After these the process may be short of memory, half shut down, or full of files: it is not reused.
SPENT = frozenset({"MEMORY_LIMIT", "FILE_LIMIT", "RUNNER_EXITED"})

_encode = msgspec.json.Encoder().encode
_replies = msgspec.json.Decoder(inside.Reply)
_items = msgspec.json.Decoder(list[dict[str, Any]])
_about = msgspec.json.Decoder(dict[str, Any])


class JobOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One job for a child. `items` are the JSON chunks of earlier stages, the earliest first.

    `timeout_s` runs from when the order is sent to a child that has loaded its pipelines.
    """

    runner: str
    record_id: str
    stage: str
    attempt: int
    timeout_s: float
    timeout_message: str = "Timeout"
    retry_count: int = 0
    labels: Fields = {}
    artifact_path: str | None = None
    items: Mapping[str, Sequence[str]] = {}
    options: Fields = {}

    @property
    def is_small(self) -> bool:
        """Whether its inputs are in memory and few, so that it may be sent ahead."""
        size = 0
        for chunks in self.items.values():
            if not isinstance(chunks, list):  # those in the database are read one by one
                return False
            size += sum(map(len, chunks))
        return size <= SMALL_INPUT_CHARS


class AttemptFiles(Protocol):
    """Where a worker stores the derived files of an attempt, and finds those of earlier stages."""

    def put(self, pieces: Iterable[bytes], *, bytes_max: int) -> tuple[str, int]:
        """Store these bytes durably; their SHA-256 and size. `InvalidRequest` if there are more than `bytes_max`."""

    def find(self, stage: str, name: str) -> Path | None:
        """The file that an earlier stage saved under a name, or None."""


class ChildJob(NamedTuple):
    """A job to start in a child: its order, and where the worker puts what it saves."""

    order: JobOrder
    saved_values: SavedValues | None = None
    files: AttemptFiles | None = None


class Child:
    """A warm process, its supervisor, and the jobs that it was given: the first one runs, the others wait for it."""

    def __init__(
        self,
        born: "_Spawned",
        *,
        limits: Limits,
        now: Callable[[], Micros],
        clock: Callable[[], float],
        grants: Grants,
    ) -> None:
        self.grants = grants
        self.owner: str | None = None
        """Whose documents it was given; None before the first."""
        self.layers: tuple[str, ...] | None = None
        self._process = born.process
        self._wire = _Wire(born.channel, frame_bytes_max=_frame_bytes_max(limits))
        self._permits_reader, self._permits_writer = born.permits
        self._output_fd = born.output_fd
        self._status_fd = born.status_fd
        self._scratch = born.scratch
        self._inputs = InputFolder(inside.inputs_of(born.scratch))
        self._limits = limits
        self._now = now
        self._clock = clock
        self._attempts: deque[_Attempt] = deque()
        self._ordered = 0
        self._jobs_done = 0
        self._death: int | None = None  # its wait status, once it is known
        self._batch_max = 1  # doubled by every batch that ends without a stop
        self._mean_s: float | None = None
        self._peek_at = -math.inf
        self.ran_s = 0.0
        """How long the job of the last result ran, by what the child says; for estimates only."""
        self._tasks_before = 0  # processes and threads before the job; libraries keep some
        self._is_closed = False
        # The processes were killed; must not happen twice, see `_end_processes`.
        self._is_ended = False
        self._is_orphaned = False  # the supervisor died without a report

    @classmethod
    def spawn(
        cls,
        imports: Sequence[str],
        *,
        limits: Limits,
        scratch_root: Path,
        now: Callable[[], Micros],
        clock: Callable[[], float] = time.monotonic,
        landlock: bool = True,
        grants: Grants = Grants(),  # noqa: B008 - frozen
    ) -> Self:
        """Start a child that imports these modules, .py files or `__main__` to find runners.

        It dies with the thread that spawns it (the kernel's parent-death signal is per thread), so
        the caller must be the thread of the loop. `landlock=False` leaves out the whole confinement
        (files, sockets, capabilities), `grants` are exceptions to it.
        """
        reap_children()  # here, because a child is closed without waiting and mostly replaced
        born = _spawn(scratch_root, grants)
        child = cls(born, limits=limits, now=now, clock=clock, grants=grants)
        hello = _hello(imports, limits=limits, is_confined=landlock, grants=grants)
        child._wire.send([msgspec.json.encode(hello)])
        return child

    @property
    def pid(self) -> int:
        """The process id of the supervisor, which is also the id of the session of its runner."""
        return self._process.pid

    @property
    def _attempt(self) -> "_Attempt | None":
        """The job that runs."""
        return self._attempts[0] if self._attempts else None

    @property
    def pending(self) -> int:
        """How many of the jobs that it was given have no result yet and were not taken back."""
        return len(self._attempts)

    @property
    def has_begun(self) -> bool:
        """Whether it has begun its first job: the permit of a job that it has not begun is still unread."""
        if self._attempt is None or not self._attempt.is_sent or self._is_closed:
            return False
        unread = inside.unread_bytes(self._permits_reader) // inside.PERMIT_BYTES
        return unread < len(self._attempts)

    @property
    def capacity(self) -> int:
        """How many jobs it should be given at once when it is idle."""
        if self._mean_s is None or self.grants.may_connect:  # what waits for a network is not quick
            return 1
        quick = BATCH_MAX if self._mean_s * BATCH_MAX <= BATCH_S else int(BATCH_S / self._mean_s)
        left = self._limits.jobs_per_child - self._jobs_done
        return max(1, min(self._batch_max, quick, left))

    @property
    def is_idle(self) -> bool:
        """Whether a job can be started."""
        return self._attempt is None and not self.is_dead

    @property
    def is_dead(self) -> bool:
        """Whether this child will never run a job again. Reads its descriptors to find that it just died."""
        if self._attempt is None and not self._is_closed:
            self.on_ready()
        return self._is_closed

    @property
    def wants_write(self) -> bool:
        """Whether a part of the job still waits to be sent."""
        return self._wire.wants_write

    @property
    def deadline(self) -> float | None:
        """When `expire` wants to be called, on the clock of this child; None without a job."""
        if self._attempt is None:
            return None
        attempt = self._attempts[0]
        wake_at = min(attempt.kill_at, attempt.check_at)
        if len(self._attempts) > 1:
            wake_at = min(wake_at, self._peek_at)
        # While a job is paced none of its descriptors is watched: only the clock can wake the loop.
        is_paced = self._clock() < attempt.resume_at
        return min(wake_at, attempt.resume_at) if is_paced else wake_at

    def filenos(self) -> tuple[int, ...]:
        """The descriptors to watch for reading."""
        if self._is_closed:
            return ()
        channel = () if self._wire.is_ended else (self._wire.fileno(),)
        return (*channel, self._output_fd, self._status_fd)

    def watched(self) -> Iterator[tuple[int, int]]:
        """The descriptors to sleep on, each with the events of `selectors`.

        Ask again before each sleep: while a job that writes too much is paced, there are none.
        """
        if self._attempt is not None and self._clock() < self._attempt.resume_at:
            return
        # Answers of a batch are collected: only what is not an answer wakes the loop, or the time (`deadline`).
        is_batch = len(self._attempts) > 1
        for fd in self.filenos():
            is_channel = fd == self._wire.fileno()
            is_written = is_channel and self.wants_write
            is_read = not (is_channel and is_batch)
            events = is_read * selectors.EVENT_READ | is_written * selectors.EVENT_WRITE
            if events:
                yield fd, events

    def start(
        self,
        order: JobOrder,
        *,
        saved_values: SavedValues | None = None,
        files: AttemptFiles | None = None,
    ) -> None:
        """Begin a job. Its time runs from when the pipelines are loaded; what it saves goes into `saved_values`.

        Its derived files are stored in `files` when it is done, before its result is given.

        A child that is still loading gets the order after its `Ready`; until then LOAD_S_MAX holds.
        """
        self.start_all([ChildJob(self.staged(order), saved_values, files)])

    def staged(self, order: JobOrder) -> JobOrder:
        """The order with its artifact in the folder that this child reads; `ArtifactError` if that fails.

        Every order that is given to `start_all` must have gone through here: no other file can be read there.
        """
        if order.artifact_path is None:
            return order
        return replace(order, artifact_path=str(self._inputs.add(Path(order.artifact_path))))

    def start_all(self, jobs: Sequence["ChildJob"]) -> None:
        """Begin the first of these jobs, and send the others ahead; all but a single one must be small."""
        if self._attempts or self._is_closed:
            raise RuntimeError(f"child {self.pid} is not idle; look at is_idle before start()")
        for job in jobs:
            self._attempts.append(
                _Attempt(
                    job.order,
                    self._limits,
                    AttemptLog(bytes_max=self._limits.log_bytes_max, now=self._now),
                    number=self._ordered,
                    kill_at=self._clock() + LOAD_S_MAX,
                    folder=self._scratch,
                    inputs=self._inputs,
                    saved_values=UnsavedValues() if job.saved_values is None else job.saved_values,
                    files=job.files,
                )
            )
            self._ordered += 1
        if self.layers is not None:
            self._send()

    def recall(self) -> None:
        """Take back the jobs that the child has not begun; they are no longer `pending`, and may run elsewhere.

        The process that reads a permit has it, so what is read here will not be begun.
        """
        if len(self._attempts) < 2:
            return
        data = inside.read_now(self._permits_reader, inside.PERMITS_BYTES) or b""
        size = inside.PERMIT_BYTES
        back = {data[start : start + size] for start in range(0, len(data), size)}
        first, *others = self._attempts
        if first.permit in back:  # its turn has come, only the child has not got to it
            os.write(self._permits_writer, first.permit)
        for each in others:
            if each.permit in back:
                each.forget_inputs()
        self._attempts = deque([first, *(each for each in others if each.permit not in back)])
        self._batch_max = 1

    def on_ready(self) -> Result | None:
        """Read and write what is possible now; the next result. Call it again until there is none.

        The status is read last: what a runner sent before it died counts for more than how it died.
        """
        if self._is_closed:
            return None
        try:
            size = self._read_output()
            self._wire.flush()
            result = self._take_all()
        except ProtocolViolation as breach:
            return self._kill(BROKE_PROTOCOL, f"{breach}")
        if result is not None or self._is_closed:
            return result
        status = self._read_status()
        if status is not None:
            return self._on_death(status)
        self._keep_pace(size + self._wire.take_size())
        if len(self._attempts) > 1:
            self._peek_at = self._clock() + PEEK_S_MAX
        return None

    def expire(self, now: float | None = None) -> Result | None:
        """End the job if its time is over or it has too many processes; its result then."""
        attempt, now = self._attempt, self._clock() if now is None else now
        if attempt is None or now < min(attempt.kill_at, attempt.check_at):
            return None
        result = self.on_ready()  # it may be over already: this loop was late, not the job
        if result is not None or self._attempt is not attempt:
            return result
        if len(self._attempts) > 1:
            # Without a permit the child begins nothing after the job that runs. So when its answers were read, this
            # one is still without an answer only if it really still runs.
            self.recall()
            result = self.on_ready()
            if result is not None or self._attempt is not attempt:
                return result
        if now >= attempt.kill_at:
            code, message = attempt.overrun()
            # Not loaded in time: the machine may be too busy, and no document has been opened.
            return self._kill(code, message, is_death=code == inside.NOT_LOADED)
        attempt.check_at = now + CHECK_S
        return self._count_processes() or self._measure_scratch()

    def cancel(self) -> Failed | None:
        """Kill the job and all that it started; its failure, for a caller that wants the log."""
        return self._kill("CANCELLED", "the job was withdrawn and its processes were killed")

    def close(self, *, wait_s: float = 0.0) -> None:
        """Kill everything and release it; waits up to `wait_s` for the end of the supervisor.

        By default it does not wait: the supervisor may need a while to kill a large tree, and the
        loop has other children. `reap_children` collects it later.
        """
        if not self._is_closed:
            self._is_closed = True
            self._end_processes()
            self._wire.close()
            for fd in (
                self._permits_reader,
                self._permits_writer,
                self._output_fd,
                self._status_fd,
            ):
                os.close(fd)
            self._attempts.clear()
            _DYING.append((self._process, self._scratch))
        if wait_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
            reap_children()

    def _send(self) -> None:
        """Send all jobs and permit them: the orders first, so that the permits find the child ready to read them."""
        self._begin(self._attempts[0])
        for attempt in self._attempts:
            attempt.is_sent = True
        self._wire.send(
            frame
            for attempt in self._attempts
            for frame in _order_frames(attempt.order, attempt.number)
        )
        # A pipe takes so few bytes at once or not at all, and this one is empty.
        os.write(self._permits_writer, b"".join(each.permit for each in self._attempts))

    def _begin(self, attempt: "_Attempt") -> None:
        """Let the time of a job run: from when it was sent, or from when the one before it was answered."""
        now = attempt.begun_at = self._clock()
        attempt.kill_at = now + attempt.order.timeout_s
        is_batch = len(self._attempts) > 1
        attempt.check_at = now + (RECALL_S if is_batch else CHECK_S)
        if is_batch:
            expected_s = (self._mean_s or 0.0) * len(self._attempts)
            self._peek_at = now + min(max(expected_s, PEEK_S_MIN), PEEK_S_MAX)

    def _keep_pace(self, size: int) -> None:
        """Slow down a job that writes too much, and notice a channel that has ended while its process has not."""
        if self._attempt is not None:
            self._attempt.keep_pace(size, self._clock())
            if self._wire.is_ended:
                self._attempt.fall_silent(self._clock() + SILENCE_S_MAX)
        elif self._wire.is_ended:
            self.close()

    def _take_all(self) -> Result | None:
        for payload in self._wire.receive():
            result = self._take(payload)
            if result is not None:
                return result
        return None

    def _take(self, payload: bytes) -> Result | None:
        try:
            reply = _replies.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise ProtocolViolation(f"it sent what is not a message: {error}") from error
        if isinstance(reply, inside.Ready) and self.layers is None:
            self.layers = reply.layers
            # Threads that the imports started are not counted against a job.
            self._tasks_before = _tasks(processes.descendants(self.pid))
            if self._attempts:
                self._send()
            return None
        if self._attempt is None or not self._attempt.is_sent:
            raise ProtocolViolation("it spoke without being asked")
        if isinstance(reply, inside.Request):
            # The SDK reads the whole order before it calls the runner. A reply now would come after the
            # frames of the order, where the SDK does not expect it; between whole orders it does.
            if self._wire.wants_write and not self._attempt.order.is_small:
                raise ProtocolViolation("it asked before it had heard the whole job")
            self._wire.send([msgspec.json.encode(self._attempt.answer(reply))])
            return None
        result = self._attempt.take(reply)
        if result is None:
            return None
        self._note(getattr(reply, "seconds", 0.0))
        is_stopped = isinstance(result, Failed) or getattr(reply, "is_stopped", False)
        if is_stopped or len(self._attempts) == 1:
            is_swollen = getattr(reply, "is_swollen", False)
            return self._finish(self._attempt, result, is_stopped=is_stopped, is_swollen=is_swollen)
        attempt = self._attempts.popleft()
        attempt.forget_inputs()
        self._jobs_done += 1
        self._begin(self._attempts[0])
        return _with_log(result, attempt.log)

    def _note(self, seconds: float) -> None:
        """Count how long a job took. What a child says of it is used for estimates only, so a lie does no harm."""
        self.ran_s = min(max(seconds, 0.0), LOAD_S_MAX)
        mean = self.ran_s if self._mean_s is None else self._mean_s
        self._mean_s = mean + NEWEST_SHARE * (self.ran_s - mean)

    def _finish(
        self, attempt: "_Attempt", result: Result, *, is_stopped: bool, is_swollen: bool
    ) -> Result:
        """The child has stopped; its process is kept for the next job unless it is spent, worn, swollen or not clean.

        Jobs that were sent ahead are taken back: their permits were given up before the child stopped.
        """
        inside.read_now(self._permits_reader, inside.PERMITS_BYTES)  # of a child that did not
        for each in self._attempts:
            each.forget_inputs()
        self._attempts.clear()
        self._jobs_done += 1
        is_noisy = self._drain_output(attempt)
        self._batch_max = 1 if is_stopped or is_noisy else min(2 * self._batch_max, BATCH_MAX)
        tree = processes.descendants(self.pid)
        self._tasks_before = _tasks(tree)
        if len(tree) > 1:  # the runner itself is one
            left = f"the runner left {len(tree) - 1} processes; they are killed"
            attempt.log.write("warning", left, {})
        is_spent = isinstance(result, Failed) and result.code in SPENT
        # Bounds what libraries leak from job to job, and how long planted code can stay.
        is_worn = self._jobs_done >= self._limits.jobs_per_child
        if is_spent or is_worn or is_swollen or self._wire.has_more or len(tree) != 1:
            self.close()
        return _with_log(result, attempt.log)

    def _kill(self, code: str, message: str, *, is_death: bool = False) -> Failed | None:
        """Kill the child; the failure of its job, if it had one. `is_death`: the process had died by itself."""
        self._end_processes()  # before the output is drained, or it could go on writing
        attempt, has_begun = self._attempt, self.has_begun
        self._attempts.clear()
        self._drain_output(attempt)
        self.close()
        if attempt is None:
            return None
        self._note(self._clock() - attempt.begun_at)
        message = clean_text(message, chars_max=self._limits.message_chars_max)
        attempt.log.write("error", message, {"code": code})
        if is_death:
            return Died(code=code, message=message, log=attempt.log.text(), has_begun=has_begun)
        return Failed(code=code, message=message, log=attempt.log.text())

    def _on_death(self, status: int) -> Result | None:
        """The process is gone: a result that it had already sent counts, else the way it died."""
        try:
            result = self._take_all()
            if result is not None:
                return result
        except ProtocolViolation:
            pass  # cut off in the middle of a message: the way it died says more
        is_loading = self.layers is None
        code, message = _cause(status, self._limits, is_loading=is_loading)
        # A process that ends by itself, or by a limit, was ended by its runner: only a signal may come from outside.
        is_death = os.WIFSIGNALED(status) and code in (inside.NOT_LOADED, RUNNER_DIED)
        return self._kill(code, message, is_death=is_death)

    def _count_processes(self) -> Failed | None:
        """Enforce `processes_max` here: RLIMIT_NPROC counts all tasks of a user, not those of a job."""
        tasks = _tasks(processes.descendants(self.pid)) - self._tasks_before
        most = self._limits.processes_max
        if tasks <= most:
            return None
        return self._kill(
            "PROCESS_LIMIT",
            f"the runner started {tasks} processes and threads; the limit is {most} "
            "(worker.processes_max)",
        )

    def _measure_scratch(self) -> Failed | None:
        """Enforce `scratch_bytes_max` here: the kernel bounds one file (RLIMIT_FSIZE), not a folder of one process."""
        most = self._limits.scratch_bytes_max
        began = time.perf_counter()
        size = scratch_size(self._scratch, processes.descendants(self.pid), bytes_max=most)
        if (
            self._attempt is not None
        ):  # many small files take long to look at; others wait for this loop
            self._attempt.check_at += LOOK_SHARE * (time.perf_counter() - began)
        if size <= most:
            return None
        return self._kill(
            "SCRATCH_LIMIT",
            f"the runner filled its scratch folder; the limit is {most} bytes (worker.scratch_bytes_max), "
            f"each file counting as at least {FILE_BYTES_LEAST} bytes",
        )

    def _end_processes(self) -> None:
        """Kill the tree below the supervisor; the supervisor kills what escaped and then exits.

        The supervisor gets SIGTERM rather than SIGKILL: orphans are moved to it, so it must outlive
        them to find them all. Only once: after the supervisor was waited for, its pid may be that of
        an unrelated process.
        """
        if self._is_ended:
            return
        self._is_ended = True
        processes.kill_descendants(self.pid)
        if self._is_orphaned:
            # It was killed: its orphans went to init, but those of its session are found.
            for pid in processes.members_of(self.pid):
                _signal(pid, signal.SIGKILL)
        elif self._process.poll() is None:
            _signal(self.pid, signal.SIGTERM)
            # A runner may have stopped it; stopped, it takes no SIGTERM.
            _signal(self.pid, signal.SIGCONT)

    def _read_output(self) -> int:
        """Read what the job printed; how much.

        Of a batch nothing is read before it is certain which job printed it: the jobs that have not begun are taken
        back, and what those before the last one printed was read when they stopped.
        """
        if len(self._attempts) > 1:
            if inside.unread_bytes(self._output_fd):
                self.recall()
            if len(self._attempts) > 1:
                return 0
        size = 0
        for _ in range(READS_MAX):
            data = inside.read_now(self._output_fd, READ_BYTES)
            if not data:
                break
            size += len(data)
            if self._attempt is not None:
                self._attempt.print(data)
        return size

    def _drain_output(self, attempt: "_Attempt | None") -> bool:
        """Read the rest of a job's output; whether the job has printed anything.

        The child flushes its streams before it sends its last message. So all of it is here by then, and belongs to
        this job, not to the next one in the same process.
        """
        for _ in range(READS_MAX):
            data = None if self._is_closed else inside.read_now(self._output_fd, READ_BYTES)
            if not data:
                break
            if attempt is not None:
                attempt.print(data)
        if attempt is None or not attempt.has_printed:
            return False
        attempt.print(b"\n")  # completes a last line without an end
        return True

    def _read_status(self) -> int | None:
        """The runner's wait status; None while it lives.

        Four bytes are written to a pipe at once or not at all, so less than that is the end of the
        pipe: the supervisor, its only writer, died without a report.
        """
        if self._death is None:
            data = inside.read_now(self._status_fd, struct.calcsize("i"))
            if data is None:
                return None
            self._is_orphaned = len(data) < struct.calcsize("i")
            self._death = int(signal.SIGKILL if self._is_orphaned else struct.unpack("i", data)[0])
        return self._death


_Answer: TypeAlias = inside.Line | inside.Items | inside.Done | inside.Fault


class ProtocolViolation(Exception):
    """A child sent what the SDK never sends: it is broken or hostile, and is killed."""


class _Attempt:
    """The job under way: what came of it so far, and how long it may still take."""

    def __init__(
        self,
        order: JobOrder,
        limits: Limits,
        log: AttemptLog,
        *,
        number: int,
        kill_at: float,
        folder: Path,
        inputs: InputFolder,
        saved_values: SavedValues,
        files: AttemptFiles | None,
    ) -> None:
        self.order = order
        self._inputs = inputs
        self._found: list[Path] = []
        self.log = log
        self.number = number
        self.permit = number.to_bytes(inside.PERMIT_BYTES, "big")
        self.begun_at = math.inf
        self.kill_at = kill_at
        self.check_at = kill_at  # nothing to count before the order is sent
        self.resume_at = -math.inf
        self.is_sent = False
        self._is_silent = False
        self._saved_values = saved_values
        self._files = files
        self._folder = folder
        self._requests = 0
        self._limits = limits
        # Beside the child's own folder, which the child may empty or make unwritable.
        self._chunks = Chunks(lambda: folder.parent)
        self._is_told = False
        self._count = 0
        self._bytes = 0
        self.has_printed = False
        self._partial = b""
        self._small_reads = 0

    def keep_pace(self, size: int, now: float) -> None:
        """Read less often from a job that has written much in small pieces; full reads cost little per byte."""
        if 0 < size < READ_BYTES:
            self._small_reads += 1
            if self._small_reads > SMALL_READS_MAX:
                self.resume_at = now + PACE_S

    def fall_silent(self, kill_at: float) -> None:
        """The channel has ended: either its process is dying, or it closed the channel and runs on."""
        if not self._is_silent:
            self._is_silent = True
            self.kill_at = min(self.kill_at, kill_at)

    def overrun(self) -> tuple[str, str]:
        """The code and message of a job that took too long."""
        if self._is_silent:
            return BROKE_PROTOCOL, "the runner closed the channel to its worker and went on"
        if not self.is_sent:
            return inside.NOT_LOADED, f"the pipelines were not loaded within {LOAD_S_MAX:g} s"
        return "TIMEOUT", self.order.timeout_message

    def answer(self, request: inside.Request) -> inside.RequestReply:
        """Save a value for the stage of this job, load one, or find a derived file of an earlier stage.

        A child names no record: it is that of its order, so it reaches no other record's values and files. A
        database error goes to the runner as a retryable failure.
        """
        self._requests += 1
        data = request.data if isinstance(request, inside.SaveValue) else b""
        is_small = 0 < len(request.name) <= SAVED_NAME_CHARS_MAX and len(data) <= SAVED_BYTES_MAX
        if request.number != self.number or not is_small or self._requests > REQUESTS_MAX:
            raise ProtocolViolation("it sent a request that the SDK would have refused")
        name = clean_text(request.name, chars_max=SAVED_NAME_CHARS_MAX)
        try:
            if isinstance(request, inside.FindFile):
                return inside.RequestReply(data=self._find(request.stage, name))
            if isinstance(request, inside.LoadValue):
                return inside.RequestReply(data=self._saved_values.load(name))
            self._saved_values.save(name, data)
        except (StoreError, ArtifactError) as error:
            return inside.RequestReply(error=f"the worker could not do it: {error}")
        return inside.RequestReply()

    def _find(self, stage: str, name: str) -> bytes | None:
        found = None if self._files is None or name_fault(name) else self._files.find(stage, name)
        if found is None:
            return None
        self._found.append(self._inputs.add(found))
        return str(self._found[-1]).encode()

    def forget_inputs(self) -> None:
        """Take its files out of the folder that the child reads: they are not the next job's."""
        path = self.order.artifact_path
        for each in (*([] if path is None else [Path(path)]), *self._found):
            self._inputs.remove(each)

    def take(self, reply: inside.Ready | _Answer) -> Result | None:
        """Check a message and use it; the result if it is the last one.

        Limits that the SDK enforces in the child are checked again here, and a breach is a protocol
        violation: an intact child would have failed with a clear error before.
        """
        if isinstance(reply, inside.Ready):
            raise ProtocolViolation("it said twice that it was ready")
        if isinstance(reply, inside.Line):
            # A thread that an earlier job left behind may still log: its lines are dropped, it is no breach.
            if reply.number == self.number:
                self.log.write(reply.level, reply.message, reply.facts)
            return None
        if reply.number != self.number:
            raise ProtocolViolation("it answered another job than it was asked for")
        if isinstance(reply, inside.Items):
            self._add(reply)
            return None
        if isinstance(reply, inside.Done):
            return self._completed(reply)
        return Failed(
            code=clean_text(reply.code, chars_max=CODE_CHARS_MAX),
            message=clean_text(reply.message, chars_max=self._limits.message_chars_max),
            is_retryable=reply.is_retryable,
        )

    def print(self, data: bytes) -> None:
        """Put what the process printed into the log, line by line, until the share of output is used up."""
        self.has_printed = True
        if not self.log.has_space(
            "output"
        ):  # counted, not split: a flood must cost the loop little
            self.log.skip(len(data))
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > LINE_CHARS_MAX:
            lines.append(self._partial)
            self._partial = b""
        for line in lines:
            for start in range(0, len(line), LINE_CHARS_MAX):
                piece = line[start : start + LINE_CHARS_MAX]
                self.log.write("output", piece.decode("utf-8", "replace"), {})

    def _add(self, reply: inside.Items) -> None:
        raw = bytes(reply.items)
        # An object instead of an array that counts no items: what the outcome says `about` the whole.
        if reply.count == 0 and raw.startswith(b"{"):
            self._add_about(raw)
            return
        self._count += reply.count
        self._bytes += len(raw)
        # A single item may be larger than a chunk and then is one, with the two brackets around it.
        most = CHUNK_BYTES_MAX if reply.count > 1 else self._limits.item_bytes_max + 2
        if not (0 < reply.count <= CHUNK_ITEMS_MAX and len(raw) <= max(most, CHUNK_BYTES_MAX)):
            raise ProtocolViolation("it sent a chunk that is too large")
        if self._count > self._limits.items_max or self._bytes_over():
            raise ProtocolViolation("it sent more items than the limits allow")
        self._chunks.append(reply.count, _checked(raw, reply.count))

    def _add_about(self, raw: bytes) -> None:
        """Take the object about the items as a whole; an attempt has at most one."""
        if len(raw) > ABOUT_BYTES_MAX or self._is_told:
            raise ProtocolViolation("it said too much of its items as a whole")
        try:
            about = _about.decode(raw)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise ProtocolViolation(
                f"what it said of its items is no JSON object: {error}"
            ) from error
        if NUL_ESCAPED in raw and cleaned(about) != about:
            raise ProtocolViolation("it sent text with NUL in it")
        self._is_told = True
        self._chunks.append(0, raw)

    def _bytes_over(self) -> bool:
        """Whether there are more bytes than the SDK lets through.

        The SDK counts each item and one separator: a chunk has one byte more, its second bracket. The
        chunk at hand is not in `_chunks` yet.
        """
        return self._bytes > self._limits.items_bytes_max + len(self._chunks) + 1

    def _completed(self, done: inside.Done) -> Result:
        if done.count != self._count:
            raise ProtocolViolation(f"it counted {done.count} items and sent {self._count}")
        label = clean_text(done.outcome, chars_max=LABEL_CHARS_MAX)
        facts = msgspec.json.encode(done.facts)
        if label != done.outcome or not label or len(facts) > FACTS_BYTES_MAX:
            raise ProtocolViolation("it sent an outcome that the SDK never sends")
        if NUL_ESCAPED in facts and cleaned(done.facts) != done.facts:
            raise ProtocolViolation("it sent facts that the SDK never sends")
        try:
            self._store(done.files)
        except StoreError as error:
            why = f"its files could not be stored: {error}"
            return Failed(code=FILES_NOT_STORED, message=why, is_retryable=True)
        return Completed(
            outcome=label,
            facts=done.facts,
            count=done.count,
            chunks=self._chunks.settled(),
            files=done.files,
        )

    def _store(self, files: Sequence[DerivedFile]) -> None:
        """Take the derived files over, before there is a result that could name them.

        What the child says of a file is compared with the bytes: facts and items may hold its reference.
        """
        names = {file.name for file in files}
        size = sum(file.size for file in files)
        if len(names) != len(files) or any(map(file_fault, files)):
            raise ProtocolViolation("it sent names of files that the SDK would have refused")
        if len(files) > self._limits.files_max or size > self._limits.files_bytes_max:
            raise ProtocolViolation("it sent more files than the limits allow")
        for number, file in enumerate(files):
            with _derived_file(self._folder, number) as pieces:
                self._take_over(file, pieces)

    def _take_over(self, file: DerivedFile, pieces: Iterator[bytes]) -> None:
        shown = file.name[:KEY_CHARS_SHOWN_MAX]
        if self._files is None:
            raise ProtocolViolation("it saved a file where none can be stored")
        try:
            stored, size = self._files.put(pieces, bytes_max=file.size)
        except InvalidRequest as error:  # longer than it said
            raise ProtocolViolation(f"its file {shown} changed after it was saved") from error
        if (stored, size) != (file.sha256, file.size):
            raise ProtocolViolation(f"its file {shown} changed after it was saved")


@contextlib.contextmanager
def _derived_file(scratch: Path, number: int) -> Iterator[Iterator[bytes]]:
    """The bytes of a file that a child saved, a piece at a time.

    The folder belongs to code that may be hostile: a link or a pipe in the place of the file is refused, not followed
    and not waited for.
    """
    try:
        with contextlib.ExitStack() as opened:
            folder = os.open(
                scratch / DERIVED_FOLDER,
                os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
            )
            opened.callback(os.close, folder)
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(str(number), flags, dir_fd=folder)
            opened.callback(os.close, file)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise ProtocolViolation("what it saved is no file")
            yield iter(partial(os.read, file, PIECE_BYTES), b"")
    except OSError as error:
        raise ProtocolViolation(f"a file that it saved cannot be read: {error.strerror}") from error


class _Wire:
    """The worker's end of the channel: never blocks, and refuses a frame by its length before it is collected."""

    def __init__(self, ours: socket.socket, *, frame_bytes_max: int) -> None:
        self.is_ended = False
        self._socket = ours
        self._frame_bytes_max = frame_bytes_max
        self._incoming = bytearray()
        self._received = 0
        self._payloads: Iterator[bytes] = iter(())
        self._sending = memoryview(b"")

    @property
    def wants_write(self) -> bool:
        return bool(self._sending) and not self.is_ended

    @property
    def has_more(self) -> bool:
        """Whether bytes followed the last message: the child sent more than it was asked for."""
        return bool(self._incoming)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, payloads: Iterable[bytes]) -> None:
        """Queue payloads and send what goes at once.

        They are encoded a few at a time as the socket takes them: inputs may lie in files and exceed memory.
        """
        self._payloads = chain(self._payloads, payloads)
        if not self._sending:
            self._sending = self._next()
        self.flush()

    def flush(self) -> None:
        try:
            while self._sending and not self.is_ended:
                sent = self._socket.send(self._sending)
                self._sending = self._sending[sent:] or self._next()
        except BlockingIOError:
            return
        except OSError:  # the other end is closed: what it has sent before can still be read
            self._sending = memoryview(b"")

    def receive(self) -> Iterator[bytes]:
        """The payloads that are complete, within the bytes of one turn: others are waiting too."""
        for _ in range(READS_MAX):
            yield from self._complete()
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return
            except ConnectionError:
                # Reset, because the child died with our bytes unread: an end as any other.
                data = b""
            if not data:
                self.is_ended = True
                return
            self._incoming += data
            self._received += len(data)
        yield from self._complete()

    def take_size(self) -> int:
        """How many bytes came since this was last asked."""
        size, self._received = self._received, 0
        return size

    def close(self) -> None:
        self.is_ended = True
        self._socket.close()

    def _next(self) -> memoryview:
        data = b""
        for payload in self._payloads:
            data += inside.frame(payload)
            if len(data) >= SEND_BYTES:
                break
        return memoryview(data)

    def _complete(self) -> Iterator[bytes]:
        """Cut whole frames off what was received: a length of four bytes, big-endian, then the payload."""
        header = inside.HEADER_BYTES
        while len(self._incoming) >= header:
            size = int.from_bytes(self._incoming[:header], "big")
            if size > self._frame_bytes_max:
                raise ProtocolViolation(f"it sent what is not a message, or one of {size} bytes")
            if len(self._incoming) < header + size:
                return
            payload = bytes(self._incoming[header : header + size])
            del self._incoming[: header + size]
            yield payload


def reap_children() -> None:
    """Release closed children whose supervisor has exited, so that no zombies pile up. `spawn` calls this."""
    for each in list(_DYING):
        process, scratch = each
        if process.poll() is None:
            continue
        _DYING.remove(each)
        for folder in (inside.inputs_of(scratch), scratch):
            if folder.exists():  # the supervisor was killed before it could remove it
                with contextlib.suppress(OSError):
                    empty_folder(folder)
                    folder.rmdir()


# Children that were closed and not waited for yet. In the module, because a `Child` may be dropped before its
# supervisor has exited.
_DYING: list[tuple[subprocess.Popen[bytes], Path]] = []


class _Spawned(NamedTuple):
    """A process that was just started, and the worker's ends of what connects the two."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    permits: tuple[int, int]
    output_fd: int
    status_fd: int
    scratch: Path


def _spawn(scratch_root: Path, grants: Grants) -> _Spawned:
    """Start a process with a scratch folder of its own; if that fails, nothing is left open.

    The child's ends are closed here in either case: a copy that stayed open in the worker would keep
    a pipe from ever ending when the child dies.
    """
    scratch_root.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        prefix = inside.SCRATCH_PREFIX
        scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=scratch_root.absolute()))
        ours.callback(scratch.rmdir)
        inputs = inside.inputs_of(scratch)
        inputs.mkdir(mode=0o700)
        ours.callback(inputs.rmdir)
        channel, channel_end = socket.socketpair()
        ours.callback(channel.close)
        theirs.callback(channel_end.close)
        permits = _permits(ours)
        output_fd, output_end = _pipe(ours, theirs)
        status_fd, status_end = _pipe(ours, theirs)
        channel.setblocking(False)
        # Refused when the user's pipes together exceed fs.pipe-user-pages-soft. A smaller pipe works too:
        # then a runner that prints much waits for the worker to read.
        with contextlib.suppress(OSError):
            fcntl.fcntl(output_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        fds = (channel_end.fileno(), permits[0], status_end)
        process = _popen(fds, output_end, scratch, grants=grants)
        ours.pop_all()  # started: from here on `Child.close` closes the worker's ends
    return _Spawned(process, channel, permits, output_fd, status_fd, scratch)


def _permits(ours: contextlib.ExitStack) -> tuple[int, int]:
    """The pipe of permits. The worker keeps both ends: it takes back what the child has not read."""
    reader, writer = os.pipe()
    ours.callback(os.close, reader)
    ours.callback(os.close, writer)
    os.set_blocking(reader, False)  # for both processes: they share what the descriptor stands for
    return reader, writer


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose reading end stays in the worker and never blocks."""
    reader, writer = os.pipe()
    ours.callback(os.close, reader)
    theirs.callback(os.close, writer)
    os.set_blocking(reader, False)
    return reader, writer


def _frame_bytes_max(limits: Limits) -> int:
    """The longest frame that is accepted: what a child can make the worker hold in memory at once."""
    return max(CHUNK_BYTES_MAX, limits.item_bytes_max) + FRAME_SLACK_BYTES


def _popen(
    fds: tuple[int, ...], output_fd: int, scratch: Path, *, grants: Grants
) -> subprocess.Popen[bytes]:
    """Start the supervisor with an environment of its own: the worker's may hold secrets.

    An interpreter is executed, not forked: a fork would carry the worker's memory, its database
    connection and its locks along. `-I` keeps out PYTHON* variables and the user's site-packages;
    `-X utf8` makes text UTF-8 although there is no LANG to say so. A session of its own keeps
    Ctrl-C at the terminal for the worker alone, and lets `members_of` find what is left of it.
    """
    # "" means the current directory, which is the scratch folder in the child.
    path = json.dumps([entry or os.getcwd() for entry in sys.path])  # noqa: PTH109 - "" is the folder
    numbers = map(str, (*fds, os.getpid()))
    # A path to look for programs on only where a stage may execute some.
    programs = {"PATH": confinement.PROGRAM_FOLDERS} if grants.programs else {}
    return subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-c", inside.BOOT, path, *numbers],
        stdin=subprocess.DEVNULL,
        stdout=output_fd,
        stderr=output_fd,
        cwd=scratch,
        # glibc gives each thread an arena with 64 MiB of reserved address space unless their number is
        # bounded; RLIMIT_AS would count them as memory of the job.
        env={"HOME": str(scratch), "TMPDIR": str(scratch), "MALLOC_ARENA_MAX": "2", **programs},
        pass_fds=fds,
        start_new_session=True,
    )


def _hello(
    imports: Sequence[str], *, limits: Limits, is_confined: bool, grants: Grants
) -> inside.Hello:
    # The script that runs the worker is `__main__` here but not in a child: it travels by name or path.
    module, path = _main() if MAIN in imports else (None, None)
    return inside.Hello(
        imports=tuple(_absolute(name) for name in imports if name != MAIN),
        limits=limits,
        is_confined=is_confined,
        grants=grants,
        main_module=module,
        main_path=path,
    )


def _main() -> tuple[str | None, str | None]:
    """How a child can import the script that this process runs: by module name (`python -m`) or by path."""
    main = sys.modules[MAIN]
    spec, file = main.__spec__, getattr(main, "__file__", None)
    if spec is not None:
        return spec.name, None
    return None, None if file is None else str(Path(file).absolute())


def _absolute(name: str) -> str:
    """Independent of the working directory, which in a child is its scratch folder."""
    return str(Path(name).absolute()) if name.endswith(".py") else name


def _order_frames(order: JobOrder, number: int) -> Iterator[bytes]:
    """The order with its inputs, or, if they are not small, each chunk as a frame of its own: none grows with them."""
    is_small = order.is_small
    small = order.items.items() if is_small else ()
    yield _encode(
        inside.Order(
            number=number,
            runner=order.runner,
            record_id=order.record_id,
            stage=order.stage,
            attempt=order.attempt,
            retry_count=order.retry_count,
            labels=order.labels,
            artifact_path=order.artifact_path,
            inputs={} if is_small else {name: len(each) for name, each in order.items.items()},
            timeout_s=order.timeout_s,
            options=order.options,
            items={name: [msgspec.Raw(chunk.encode()) for chunk in each] for name, each in small},
        )
    )
    if not is_small:
        for chunks in order.items.values():
            for chunk in chunks:
                yield chunk.encode()


def _with_log(result: Result, log: AttemptLog) -> Result:
    text = log.text()
    return replace(result, log=text) if text else result


def _checked(raw: bytes, count: int) -> bytes:
    """The chunk, if it is an array of so many JSON objects; stored as it came, not encoded again."""
    try:
        items = _items.decode(raw)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ProtocolViolation(f"it sent items that are not JSON objects: {error}") from error
    if len(items) != count:
        raise ProtocolViolation(f"it sent {len(items)} items as {count}")
    if NUL_ESCAPED in raw and cleaned(items) != items:
        raise ProtocolViolation("it sent text with NUL in it")
    return raw


def _cause(status: int, limits: Limits, *, is_loading: bool) -> tuple[str, str]:
    """The code and message of a process that ended in the middle of its job.

    While it loads, every death is a fault of the pipelines: no document has been opened by then.
    """
    sign = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    ended = f"exited with code {code}" if sign is None else f"was killed by {_signal_name(sign)}"
    if is_loading:
        return inside.NOT_LOADED, f"the process {ended} while it loaded the pipelines"
    if sign == signal.SIGXCPU:
        limit = "" if limits.cpu_s is None else f" of {limits.cpu_s:g} s"
        return "CPU_LIMIT", f"the runner used up its processor time{limit} (worker.cpu_seconds)"
    if code == inside.EXIT_MEMORY:
        limit = f"the limit is {limits.memory_bytes} bytes (worker.memory_bytes)"
        return "MEMORY_LIMIT", f"ran out of memory; {limit}"
    if code == inside.EXIT_CHANNEL:
        return BROKE_PROTOCOL, "the runner broke the channel to its worker"
    if sign is None:
        return "RUNNER_EXITED", f"the runner's process {ended}; a runner returns or raises"
    hint = "; is the machine out of memory?" if sign == signal.SIGKILL else ""
    return RUNNER_DIED, f"the runner's process {ended}{hint}"


def _tasks(pids: Iterable[int]) -> int:
    """How many processes and threads these are together; a bomb of threads does the same harm."""
    return sum(map(processes.thread_count, pids))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _signal(pid: int, sign: signal.Signals) -> None:
    """Send a signal to a process that may be gone, or may have become another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, sign)

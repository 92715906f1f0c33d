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

Five things connect a worker with a child:

    channel  socket pair, both ways   frames of JSON: orders out, items and results in
    permits  pipe, worker to child    the number of each job that may begin; the worker can read it too
    lines    pipe, child to worker    what jobs log, as frames; not watched, read with the result or at a death
    output   pipe, child to worker    stdout and stderr of the runner, for the log
    status   pipe, child to worker    from the supervisor: the runner's wait status, once
"""

import contextlib
import math
import os
import select
import selectors
import signal
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import msgspec
from msgspec.structs import replace

from stateward.core.model import SECOND, Micros, clean_text
from stateward.workers import child_main as inside
from stateward.workers import child_protocol as protocol
from stateward.workers.child_attempt import (
    BROKE_PROTOCOL,
    LOAD_S_MAX,
    AttemptFiles,
    ChildAttempt,
    JobOrder,
    order_frames,
)
from stateward.workers.child_processes import RUNNER_DIED, ChildProcesses, cause_of_death
from stateward.workers.confinement import Grants
from stateward.workers.inputs import FILE_BYTES_LEAST, InputFolder, scratch_size
from stateward.workers.results import (
    Died,
    Failed,
    Limits,
    Result,
)
from stateward.workers.sdk import SavedValues
from stateward.workers.spawning import (
    DYING,
    Spawned,
    hello,
    reap_children,
    start_process,
)
from stateward.workers.wire import (
    READ_BYTES,
    READS_MAX,
    ProtocolViolation,
    Wire,
    frame_bytes_max,
    whole_frames,
)

# How often the processes of a job are counted. In between, RLIMIT_NPROC stops a fork bomb.
CHECK_S = 0.25
# Looking at a scratch folder may take up this share of the time between two looks at most: 1 / (1 + LOOK_SHARE).
LOOK_SHARE = 20.0
# The channel of a process that dies ends a moment before its supervisor reports the status, which says more. A
# runner that closed the channel on purpose has no more time than this.
SILENCE_S_MAX = 1.0
# How many jobs are sent at once, and how long they may take together by the estimate: a job of higher priority, or one
# that another child could run, waits for them.
BATCH_MAX = 128
BATCH_S = 0.02
# The jobs behind one that takes this long are taken back: they are not quick, or not after this one.
RECALL_S = 0.05
# How often a batch is looked at while its last job has not begun: an answer alone does not wake the worker.
PEEK_S_MIN, PEEK_S_MAX = 0.001, 0.01
# The weight of the newest job in the estimate of how long jobs take.
NEWEST_SHARE = 0.2
# After these the process may be short of memory, half shut down, or full of files: it is not reused.
SPENT = frozenset({"MEMORY_LIMIT", "FILE_LIMIT", "RUNNER_EXITED"})
_replies: "msgspec.json.Decoder[protocol.Reply]" = msgspec.json.Decoder(protocol.Reply)
_lines = msgspec.json.Decoder(protocol.Line)

T = TypeVar("T")


class ChildJob(NamedTuple):
    """A job to start in a child: its order, and where the worker puts what it saves."""

    order: JobOrder
    saved_values: SavedValues | None = None
    files: AttemptFiles | None = None


class Child:
    """A warm process, its supervisor, and the jobs that it was given: the first one runs, the others wait for it."""

    def __init__(
        self,
        born: "Spawned",
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
        self._wire = Wire(born.channel, frame_bytes_max=frame_bytes_max(limits))
        self._permits_reader, self._permits_writer = born.permits
        self._lines_fd = born.lines_fd
        self._output_fd = born.output_fd
        self._status_fd = born.status_fd
        # What an idle child says, prints or dies of: one system call, where to read all three takes three.
        self._idle = select.poll()
        descriptors = (self._wire.fileno(), self._output_fd, self._status_fd)
        for fd in descriptors:
            self._idle.register(fd, select.POLLIN)
        self._plainly_watched = tuple((fd, selectors.EVENT_READ) for fd in descriptors)
        self._scratch = born.scratch
        self._inputs = InputFolder(inside.inputs_of(born.scratch))
        self._limits = limits
        self._now = now
        self._clock = clock
        self._attempts: deque[ChildAttempt] = deque()
        # Read and not given yet, each with the time that it took.
        self._results: deque[tuple[Result, float]] = deque()
        self._ordered = 0
        self._jobs_done = 0
        self._death: int | None = None  # its wait status, once it is known
        self._batch_max = 1  # doubled by every batch that ends without a stop
        self._mean_s: float | None = None
        self._peek_at = -math.inf
        self.ran_s = 0.0
        """How long the job of the last result ran, by what the child says; for estimates only."""
        self._processes = ChildProcesses(born.process)
        self._is_closed = False
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
        preload: Sequence[str] = (),
    ) -> Self:
        """Start a child that imports these modules, .py files or `__main__` to find runners.

        It dies with the thread that spawns it (the kernel's parent-death signal is per thread), so
        the caller must be the thread of the loop. `landlock=False` leaves out the whole confinement
        (files, sockets, capabilities), `grants` are exceptions to it. `preload` are
        modules of this package that the process which children are forked from imports first, once.
        """
        reap_children()  # here, because a child is closed without waiting and mostly replaced
        born = start_process(scratch_root, grants, preload)
        child = cls(born, limits=limits, now=now, clock=clock, grants=grants)
        first = hello(imports, limits=limits, is_confined=landlock, grants=grants)
        child._wire.send([msgspec.json.encode(first)])
        return child

    @property
    def pid(self) -> int:
        """The process id of the supervisor, which is also the id of the session of its runner."""
        return self._process.pid

    @property
    def _attempt(self) -> "ChildAttempt | None":
        """The job that runs."""
        return self._attempts[0] if self._attempts else None

    @property
    def pending(self) -> int:
        """How many of the jobs that it was given have given no result yet and were not taken back."""
        return len(self._attempts) + len(self._results)

    @property
    def has_begun(self) -> bool:
        """Whether it has begun its first job: the permit of a job that it has not begun is still unread."""
        if self._attempt is None or not self._attempt.is_sent or self._is_closed:
            return False
        unread = inside.unread_bytes(self._permits_reader) // protocol.PERMIT_BYTES
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
        return not self.pending and not self.is_dead

    @property
    def is_dead(self) -> bool:
        """Whether this child will never run a job again. Reads its descriptors to find that it just died."""
        if not (self._attempts or self._results or self._is_closed) and self._idle.poll(0):
            self.on_ready()
        return self._is_closed

    @property
    def wants_write(self) -> bool:
        """Whether a part of the job still waits to be sent."""
        return self._wire.wants_write

    @property
    def deadline(self) -> float | None:
        """When `expire` wants to be called, on the clock of this child; None without a job."""
        if self._results:
            return self._clock()
        if not self._attempts:
            return None
        attempt = self._attempts[0]
        wake_at = min(attempt.kill_at, attempt.check_at)
        if len(self._attempts) > 1:
            wake_at = min(wake_at, self._peek_at)
        if attempt.resume_at < 0.0:  # it was never paced
            return wake_at
        # While a job is paced none of its descriptors is watched: only the clock can wake the loop.
        is_paced = self._clock() < attempt.resume_at
        return min(wake_at, attempt.resume_at) if is_paced else wake_at

    def filenos(self) -> tuple[int, ...]:
        """The descriptors to watch for reading."""
        if self._is_closed:
            return ()
        channel = () if self._wire.is_ended else (self._wire.fileno(),)
        return (*channel, self._output_fd, self._status_fd)

    def watched(self) -> Iterable[tuple[int, int]]:
        """The descriptors to sleep on, each with the events of `selectors`.

        Ask again before each sleep: while a job that writes too much is paced, there are none.
        """
        is_plain = len(self._attempts) == 1 and self._attempts[0].resume_at < 0.0
        if is_plain and not (self._wire.is_ended or self._is_closed or self._wire.wants_write):
            return self._plainly_watched
        return self._watched_now()

    def _watched_now(self) -> Iterator[tuple[int, int]]:
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
        return replace(order, artifact_path=self._inputs.add(order.artifact_path))

    def start_all(self, jobs: Sequence["ChildJob"]) -> None:
        """Begin the first of these jobs, and send the others ahead; all but a single one must be small."""
        if self.pending or self._is_closed:
            raise RuntimeError(f"child {self.pid} is not idle; look at is_idle before start()")
        kill_at = self._clock() + LOAD_S_MAX
        for job in jobs:
            self._attempts.append(
                ChildAttempt(
                    job.order,
                    self._limits,
                    number=self._ordered,
                    kill_at=kill_at,
                    folder=self._scratch,
                    inputs=self._inputs,
                    now=self._now,
                    saved_values=job.saved_values,
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
        data = inside.read_now(self._permits_reader, protocol.PERMITS_BYTES) or b""
        size = protocol.PERMIT_BYTES
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
        if self._results or self._is_closed:
            return self._next_result()
        try:
            size = self._read_output()
            self._wire.flush()
            self._take_all()
        except ProtocolViolation as breach:
            failure = self._kill(BROKE_PROTOCOL, f"{breach}")
            if failure is not None:
                self._results.append((failure, self.ran_s))
            return self._next_result()
        if self._results or self._is_closed:
            return self._next_result()
        status = self._read_status()
        if status is not None:
            return self._on_death(status)
        self._keep_pace(size + self._wire.take_size())
        if len(self._attempts) > 1:
            self._peek_at = self._clock() + PEEK_S_MAX
        return None

    def _next_result(self) -> Result | None:
        if not self._results:
            return None
        result, self.ran_s = self._results.popleft()
        return result

    def expire(self, now: float | None = None) -> Result | None:
        """End the job if its time is over or it has too many processes; its result then."""
        if self._results:
            return self._next_result()
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
            return self._kill(code, message, is_death=code == protocol.NOT_LOADED)
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
            self._processes.end(is_orphaned=self._is_orphaned)
            self._processes.close()
            self._wire.close()
            for fd in (
                self._permits_reader,
                self._permits_writer,
                self._lines_fd,
                self._output_fd,
                self._status_fd,
            ):
                os.close(fd)
            self._attempts.clear()
            DYING.append((self._process, self._scratch))
        if wait_s:
            self._process.wait(wait_s)
            reap_children()

    def _send(self) -> None:
        """Send all jobs and permit them: the orders first, so that the permits find the child ready to read them."""
        self._begin(self._attempts[0])
        for attempt in self._attempts:
            attempt.is_sent = True
        # A copy: what the socket does not take at once is sent later, when the first of them may have ended.
        sent = tuple(self._attempts)
        self._wire.send(
            frame for attempt in sent for frame in order_frames(attempt.order, attempt.number)
        )
        # A pipe takes so few bytes at once or not at all, and this one is empty.
        os.write(self._permits_writer, b"".join(each.permit for each in self._attempts))

    def _begin(self, attempt: "ChildAttempt") -> None:
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

    def _take_all(self) -> None:
        """Take what the child has sent: all results at once, because each look at it costs system calls."""
        for payload in self._wire.receive():
            result = self._take(payload)
            if result is not None:
                self._results.append((result, self.ran_s))
                if not self._attempts:
                    return
        attempt = self._attempt
        if attempt is not None and attempt.is_sent and attempt.begun_at == math.inf:
            self._begin(attempt)

    def _take(self, payload: bytes) -> Result | None:
        reply = _decode(_replies, payload)
        if isinstance(reply, protocol.Ready) and self.layers is None:
            self.layers = reply.layers
            # Threads that the imports started are not counted against a job.
            self._processes.count_between_jobs()
            if self._attempts:
                self._send()
            return None
        attempt = self._attempts[0] if self._attempts else None
        if attempt is None or not attempt.is_sent:
            raise ProtocolViolation("it spoke without being asked")
        if isinstance(reply, protocol.REQUESTS):
            # The SDK reads the whole order before it calls the runner. A reply now would come after the
            # frames of the order, where the SDK does not expect it; between whole orders it does.
            if self._wire.wants_write and not attempt.order.is_small:
                raise ProtocolViolation("it asked before it had read the whole job")
            self._wire.send([msgspec.json.encode(attempt.answer(reply))])
            return None
        if not isinstance(reply, protocol.Done | protocol.Fault):
            # A line that came this way found no space in the pipe: those in it are older.
            if isinstance(reply, protocol.Line):
                self._read_lines(self._attempts)
            return attempt.take(reply)
        if reply.has_lines:
            self._read_lines(self._attempts)
        result = attempt.take(reply)
        if result is None:
            return None
        self._note(reply.seconds)
        done = reply if isinstance(reply, protocol.Done) else None
        is_stopped = isinstance(result, Failed) or (done is not None and done.is_stopped)
        if is_stopped or len(self._attempts) == 1:
            is_swollen = done is not None and done.is_swollen
            return self._finish(attempt, result, is_stopped=is_stopped, is_swollen=is_swollen)
        self._attempts.popleft()
        attempt.forget_inputs()
        self._jobs_done += 1
        return attempt.with_log(result)

    def _note(self, seconds: float) -> None:
        """Count how long a job took. What a child says of it is used for estimates only, so a lie does no harm."""
        self.ran_s = min(max(seconds, 0.0), LOAD_S_MAX)
        mean = self.ran_s if self._mean_s is None else self._mean_s
        self._mean_s = mean + NEWEST_SHARE * (self.ran_s - mean)

    def _finish(
        self, attempt: "ChildAttempt", result: Result, *, is_stopped: bool, is_swollen: bool
    ) -> Result:
        """The child has stopped; its process is kept for the next job unless it is spent, worn, swollen or not clean.

        Jobs that were sent ahead are taken back: their permits were given up before the child stopped.
        """
        inside.read_now(self._permits_reader, protocol.PERMITS_BYTES)  # of a child that did not
        for each in self._attempts:
            each.forget_inputs()
        self._attempts.clear()
        self._jobs_done += 1
        is_noisy = self._drain_output(attempt)
        self._batch_max = 1 if is_stopped or is_noisy else min(2 * self._batch_max, BATCH_MAX)
        count = self._processes.count_between_jobs()
        if count > 1:  # the runner itself is one
            left = f"the runner left {count - 1} processes; they are killed"
            attempt.log.write("warning", left, {})
        is_spent = isinstance(result, Failed) and result.code in SPENT
        # Bounds what libraries leak from job to job, and how long planted code can stay.
        is_worn = self._jobs_done >= self._limits.jobs_per_child
        if is_spent or is_worn or is_swollen or self._wire.has_more or count != 1:
            self.close()
        return attempt.with_log(result)

    def _kill(self, code: str, message: str, *, is_death: bool = False) -> Failed | None:
        """Kill the child; the failure of its job, if it had one. `is_death`: the process had died by itself."""
        self._processes.end(
            is_orphaned=self._is_orphaned
        )  # before the output is drained, or it could go on writing
        attempt, has_begun = self._attempt, self.has_begun
        with contextlib.suppress(ProtocolViolation):  # it is ended for another reason
            self._read_lines(self._attempts)
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
        # Cut off in the middle of a message: the way it died says more.
        with contextlib.suppress(ProtocolViolation):
            self._take_all()
        if self._results:
            return self._next_result()
        is_loading = self.layers is None
        code, message = cause_of_death(status, self._limits, is_loading=is_loading)
        # A process that ends by itself, or by a limit, was ended by its runner: only a signal may come from outside.
        is_death = os.WIFSIGNALED(status) and code in (protocol.NOT_LOADED, RUNNER_DIED)
        return self._kill(code, message, is_death=is_death)

    def _count_processes(self) -> Failed | None:
        """Enforce `processes_max` here: RLIMIT_NPROC counts all tasks of a user, not those of a job."""
        tasks = self._processes.tasks_of_job()
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
        size = scratch_size(self._scratch, self._processes.below(), bytes_max=most)
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

    def _read_lines(self, attempts: Sequence["ChildAttempt"]) -> None:
        """Read the lines that jobs logged, each into the log of its own; what comes from an earlier one is dropped."""
        data = b""
        for _ in range(READS_MAX):
            piece = None if self._is_closed else inside.read_now(self._lines_fd, READ_BYTES)
            data += piece or b""
            if not piece or len(piece) < READ_BYTES:
                break
        by_number = {each.number: each for each in attempts} if data else {}
        for payload in whole_frames(data):
            line = _decode(_lines, payload)
            attempt = by_number.get(line.number)
            if attempt is not None:
                age_s = min(self._clock() - line.at, self._clock() - attempts[0].begun_at)
                age = max(0, int(age_s * SECOND)) if math.isfinite(age_s) else 0
                attempt.log.write(line.level, line.message, line.facts, age=age)

    def _drain_output(self, attempt: "ChildAttempt | None") -> bool:
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


def _decode(decoder: "msgspec.json.Decoder[T]", payload: bytes) -> T:
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ProtocolViolation(f"it sent what is not a message: {error}") from error

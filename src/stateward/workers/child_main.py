"""The process that foreign code runs in: its confinement, and its loop of jobs.

The runner, which its supervisor has forked (`child_supervisor`), imports the pipelines (`child_imports`), gives up what
it will not need (`confine`), and then runs jobs until the channel ends (`child_protocol` says what is sent). Nothing
here may trust the environment, unpickle, or answer for a forked copy of itself.
Threads that a module starts while it is imported stay outside Landlock and keep root's
capabilities: both bind the thread that asks for them and those that it starts later. seccomp is
applied to all threads.
"""

import fcntl
import gc
import math
import os
import resource
import select
import signal
import socket
import sys
import termios
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from stateward.core.errors import TransientFailure
from stateward.workers.attempt_log import Log, tame_line
from stateward.workers.child_imports import load_all
from stateward.workers.child_limits import (
    AddressSpace,
    cap_limit,
    limit_memory,
    limit_process,
    watch_process,
)
from stateward.workers.child_protocol import (
    EXIT_CHANNEL,
    EXIT_MEMORY,
    HEADER_BYTES,
    NOT_LOADED,
    PERMIT_BYTES,
    PERMITS_BYTES,
    Done,
    Fault,
    FindFile,
    Hello,
    Items,
    Line,
    LoadValue,
    Order,
    Ready,
    Reply,
    Request,
    RequestReply,
    SaveValue,
    frame,
)
from stateward.workers.child_role import become_child, end_imports
from stateward.workers.confinement import (
    confine,
    die_with,
)
from stateward.workers.job_files import DERIVED_FOLDER, FolderFiles, Sweeper
from stateward.workers.results import Completed, Failed, Limits, Result
from stateward.workers.sdk import Job, registered_runners, run_runner
from stateward.workers.spool import Spool

SCRATCH_PREFIX, INPUT_PREFIX = "child-", "input-"
AN_INT = bytes(4)  # of C
# Frames of one answer are sent together up to this size: a small result is one system call here and one in the worker.
SEND_BYTES = 64 * 1024
READ_BYTES, READ_BYTES_MAX = 16 * 1024, 256 * 1024
# The stack of a job that hangs is logged when a tenth of its time is left, but no sooner than 1 s before its end: a
# long job gets nearly all of its time before it counts as hanging.
WARNING_SHARE, WARNING_S_MAX = 0.1, 1.0


class Channel:
    """The runner's end of the channel: blocking, whole frames, safe to write to from any thread.

    Frames from the worker are trusted and have no limit of length. `lines_fd` is the pipe of log lines, if any.
    """

    def __init__(self, ours: socket.socket, lines_fd: int | None = None) -> None:
        self._socket = ours
        self._lines_fd = lines_fd
        self._incoming = bytearray()
        # A runner may log from many threads: a frame of one must not be cut in two by another's.
        self._lock = threading.Lock()

    def read(self) -> bytes | None:
        """The next payload, or None when the worker is gone, also in the middle of a frame."""
        # Not by a file object: its layers cost more than the rest of a small frame.
        if not self._has_received(HEADER_BYTES):
            return None
        end = HEADER_BYTES + int.from_bytes(self._incoming[:HEADER_BYTES], "big")
        if not self._has_received(end):
            return None
        payload = bytes(self._incoming[HEADER_BYTES:end])
        del self._incoming[:end]
        return payload

    def _has_received(self, size: int) -> bool:
        """Receive until there are so many bytes; False if the channel ends before."""
        while (missing := size - len(self._incoming)) > 0:
            data = self._socket.recv(min(max(missing, READ_BYTES), READ_BYTES_MAX))
            if not data:
                return False
            self._incoming += data
        return True

    def send(self, *messages: Reply) -> None:
        self.send_all(messages)

    def send_all(self, messages: Iterable[Reply]) -> None:
        """Send messages in order, small ones together."""
        data = b""
        for message in messages:
            # Outside the lock: encoding may be slow or fail.
            data += frame(_encode(message))
            if len(data) >= SEND_BYTES:
                self._send(data)
                data = b""
        if data:
            self._send(data)

    def put_aside(self, line: Line) -> bool:
        """Put a log line where the worker finds it without being woken; whether there was space for it.

        A pipe takes so few bytes whole or not at all, from several threads too, and keeps them when this process dies.
        """
        data = frame(_encode(line))
        if self._lines_fd is None or len(data) > select.PIPE_BUF:
            return False
        try:
            return os.write(self._lines_fd, data) == len(data)
        except OSError:  # full, or closed by the runner
            return False

    def _send(self, data: bytes) -> None:
        with self._lock:
            self._socket.sendall(data)


class Orders:
    """What the worker sends after `Hello`: orders, some of them ahead, and between them replies to requests."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._ahead: deque[Order] = deque()

    def take(self, number: int) -> Order | None:
        """The order of this number; those before it were taken back. None when the worker is gone."""
        while (order := self._ahead.popleft() if self._ahead else self._read_order()) is not None:
            if order.number == number:
                return order
        return None

    def reply(self) -> RequestReply | None:
        """The reply to the request that was just sent; orders that come before it wait for their turn."""
        while isinstance(message := self._read(), Order):
            self._ahead.append(message)
        return message

    def _read_order(self) -> Order | None:
        message = self._read()
        return message if isinstance(message, Order) else None

    def _read(self) -> "Order | RequestReply | None":
        payload = self._channel.read()
        return None if payload is None else _from_worker.decode(payload)


_encode = msgspec.json.Encoder().encode
_from_worker = msgspec.json.Decoder(Order | RequestReply)


def inputs_of(scratch: Path) -> Path:
    """The folder where the worker puts the files that jobs read: beside the scratch folder, where they cannot write."""
    return scratch.with_name(scratch.name.replace(SCRATCH_PREFIX, INPUT_PREFIX, 1))


def run(channel_fd: int, permits_fd: int, lines_fd: int, *, supervisor: int) -> NoReturn:
    """The runner's whole life. It never returns into the code that was forked.

    It leaves with `os._exit`: exit handlers and threads of foreign code must not delay or change its end.
    """
    try:
        # Not inherited over a fork. SIGKILL, because foreign code could ignore any other signal.
        die_with(supervisor, signal.SIGKILL)
        # The mask is inherited, and would also keep the runner's own children from getting SIGTERM.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        channel = Channel(socket.socket(fileno=channel_fd), lines_fd)
        payload = channel.read()
        if payload is not None:
            hello = msgspec.json.decode(payload, type=Hello)
            prepare_and_serve(channel, Permits(permits_fd), hello)
    except MemoryError:
        os._exit(EXIT_MEMORY)
    except OSError:
        # Those of imports and runners are caught where they run: this one is the channel's.
        traceback.print_exc()
        os._exit(EXIT_CHANNEL)
    except BaseException:  # noqa: BLE001 - whatever it is, the worker reads it in the log
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


class Permits:
    """The pipe that says which job may begin: the number of each, in four bytes.

    The process that reads a permit has it: the worker takes jobs back by reading the permits that are still there. So
    a read never blocks, in either process: the other one may have been faster.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._readable = select.poll()
        self._readable.register(fd, select.POLLIN)

    def next(self) -> int | None:
        """Wait for the number of the next job; None when the worker is gone."""
        while (data := read_now(self._fd, PERMIT_BYTES)) is None:
            # The alarm of the last job: it warns of a job that hangs, not of one that does not come. A job that
            # follows at once sets it anew.
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._readable.poll()
        return int.from_bytes(data, "big") if len(data) == PERMIT_BYTES else None

    def give_up(self) -> None:
        """Drop the permits of the jobs that were sent ahead: none of them begins before the worker permits it again."""
        while read_now(self._fd, PERMITS_BYTES):
            pass


def read_now(fd: int, size: int) -> bytes | None:
    """What a descriptor that does not block has; None if nothing, empty at its end."""
    try:
        return os.read(fd, size)
    except BlockingIOError:
        return None


def prepare_and_serve(channel: Channel, permits: Permits, hello: Hello) -> None:
    """Limits, imports, confinement, jobs: in this order.

    Imports are foreign code, so the limits that need no measuring come before them. But the operator
    chose that code and it has seen no document yet, so what no job needs is given up after it ran.
    Memory is limited last, on top of what the imports take.
    """
    scratch = Path.cwd()
    limit_process(hello.limits)
    watch_process()
    become_child()
    faults = load_all(hello)
    end_imports()
    # What was imported stays for good: without this every job would pay for looking through it for garbage.
    gc.freeze()
    layers: tuple[str, ...] = ()
    if hello.is_confined:
        layers = confine(scratch, inputs_of(scratch), hello.grants)
    space = AddressSpace()
    limit_memory(hello.limits.memory_bytes, space)
    channel.send(Ready(layers=layers))
    serve(
        channel,
        permits,
        limits=hello.limits,
        scratch=scratch,
        faults=faults,
        space=space,
        before_job=limit_time,
    )


def serve(
    channel: Channel,
    permits: Permits,
    *,
    limits: Limits,
    scratch: Path,
    faults: Mapping[str, str],
    space: "AddressSpace",
    before_job: Callable[[Order, Limits], None],
) -> None:
    """Run jobs until the channel ends. `faults` are the imports that failed, with the reason.

    Each answer is sent before the next job begins: whatever that one does to this process, the worker has what came
    before, and knows which job it was.
    """
    home = os.getpid()
    orders = Orders(channel)
    requests = RequestChannel(channel, orders)
    files = ChildFiles(scratch, requests)
    sweeper = Sweeper()
    # What libraries keep from job to job is taken from every later one: half of a job's memory is as much as they may.
    swollen_from = space.bytes() + limits.memory_bytes // 2
    while (number := permits.next()) is not None:
        order = orders.take(number)
        if order is None:
            return
        items = read_items(channel, order, scratch)
        before_job(order, limits)
        begin = time.monotonic()
        log = WireLog(channel, order.number)
        result = work(
            order,
            items,
            log,
            requests,
            files,
            sweeper,
            limits=limits,
            scratch=scratch,
            faults=faults,
        )
        seconds = time.monotonic() - begin
        if os.getpid() != home:
            # The runner forked and both came back: only the original may answer.
            os._exit(0)
        # Before the result, after which the worker drains the output and counts processes.
        is_swollen = space.bytes() > swollen_from
        is_stopped = (
            not after_job() or isinstance(result, Failed) or bool(result.files) or is_swollen
        )
        if is_stopped:
            permits.give_up()  # before the answer: when the worker has it, no other job is under way
        channel.send_all(
            messages(
                order.number,
                result,
                is_stopped=is_stopped,
                is_swollen=is_swollen,
                has_lines=log.has_lines,
                seconds=seconds,
            )
        )


def read_items(channel: Channel, order: Order, scratch: Path) -> Mapping[str, Sequence[bytes]]:
    """The inputs of a job, all of them read before it starts: later frames are replies to its requests.

    If the channel ends in the middle, the worker is gone: what is missing is empty, and no result will be read.
    """
    items: dict[str, Sequence[bytes]] = {
        stage: [bytes(chunk) for chunk in chunks] for stage, chunks in order.items.items()
    }
    for stage, count in order.inputs.items():
        spool = items[stage] = Spool(lambda: scratch)
        for _ in range(count):
            spool.append(channel.read() or b"[]")
    return items


def work(
    order: Order,
    items: Mapping[str, Sequence[bytes]],
    log: "WireLog",
    requests: "RequestChannel",
    files: "ChildFiles",
    sweeper: Sweeper,
    *,
    limits: Limits,
    scratch: Path,
    faults: Mapping[str, str],
) -> Result:
    runner = registered_runners().get(order.runner)
    if runner is None:
        return not_loaded(order.runner, faults, log)
    files.begin(order.number)
    job = Job(
        record_id=order.record_id,
        stage=order.stage,
        attempt=order.attempt,
        retry_count=order.retry_count,
        labels=order.labels,
        path=None if order.artifact_path is None else Path(order.artifact_path),
        items=items,
        scratch=scratch,
        deadline=time.monotonic() + order.timeout_s,
        options=order.options,
        saved_values=ChildSavedValues(requests, order.number),
        files=files,
        earlier=order.earlier,
    )
    job._empty = sweeper.empty
    # No clock: the worker stamps the lines of the log as they arrive.
    return run_runner(runner, job, limits=limits, sleep=time.sleep, now=lambda: 0, log=log)


class RequestChannel:
    """Requests of a job to its worker, one at a time."""

    def __init__(self, channel: Channel, orders: Orders) -> None:
        self._channel = channel
        self._orders = orders
        self._lock = threading.Lock()

    def ask(self, request: Request) -> bytes | None:
        # Replies carry no number, so the next one must be the reply to this request.
        with self._lock:
            self._channel.send(request)
            reply = self._orders.reply()
        if reply is None:
            raise TransientFailure("the worker is gone", code="NOT_KEPT")
        if reply.error:
            raise TransientFailure(reply.error, code="NOT_KEPT")
        return reply.data


class ChildSavedValues:
    """Saved values by way of the worker: this process has no database and can write no file that outlives it."""

    def __init__(self, requests: RequestChannel, number: int) -> None:
        self._requests = requests
        self._number = number

    def save(self, name: str, data: bytes) -> None:
        self._requests.ask(SaveValue(number=self._number, name=name, data=data))

    def load(self, name: str) -> bytes | None:
        return self._requests.ask(LoadValue(number=self._number, name=name))


class ChildFiles(FolderFiles):
    """Derived files in the scratch folder, where the worker takes them when the job is done."""

    def __init__(self, scratch: Path, requests: RequestChannel) -> None:
        super().__init__(scratch / DERIVED_FOLDER)
        self._requests = requests
        self._number = -1

    def begin(self, number: int) -> None:
        """Serve another job; what the one before stored has been taken by the worker."""
        self._number = number
        if self._count:
            self.clear()

    def find(self, stage: str, name: str) -> Path | None:
        path = self._requests.ask(FindFile(number=self._number, stage=stage, name=name))
        return None if path is None else Path(path.decode())


class WireLog:
    """Hands each line over at once, so that it is kept even if this process dies next.

    A line wakes the worker only where the pipe of lines cannot take it: a job that logs as it goes would make a turn of
    the worker's loop of each. `text` is empty because the worker has the lines already.
    """

    def __init__(self, channel: Channel, number: int) -> None:
        self.has_lines = False
        self._is_sending = False
        self._channel = channel
        self._number = number

    def write(self, level: str, message: str, facts: Mapping[str, object]) -> None:
        level, message, fields = tame_line(level, message, facts)
        at = time.monotonic()
        line = Line(number=self._number, level=level, message=message, facts=fields, at=at)
        if not self._is_sending and self._channel.put_aside(line):
            self.has_lines = True
        else:
            self._is_sending = True  # from now on: of two ways, one line could overtake another
            self._channel.send(line)

    def text(self) -> str:
        return ""


def not_loaded(name: str, faults: Mapping[str, str], log: Log) -> Failed:
    """No runner of that name: because an import failed, or because no module registers it."""
    for target, text in faults.items():
        log.write("error", f"{target} cannot be loaded", {"traceback": text})
    known = ", ".join(sorted(registered_runners())) or "none"
    why = "; ".join(
        f"{target} cannot be loaded: {text.strip().splitlines()[-1]}"
        for target, text in faults.items()
    )
    reason = why or f"there are: {known}; is its module among the pipelines of the settings?"
    return Failed(code=NOT_LOADED, message=f"there is no runner {name!r}; {reason}")


def after_job() -> bool:
    """Leave nothing behind for the next job; whether nothing is left that the worker has to look at first.

    No buffered output, no zombies (they count as processes). What stays are processes that still run and output that
    the worker has not read, which it could not tell from that of the next job.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the runner may close them
            continue
    return not has_children() and not has_output()


def has_children() -> bool:
    """Whether a process that this one started still runs; those that have ended are waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def has_output() -> bool:
    """Whether something printed waits for the worker; also where that cannot be told, as with a closed stream."""
    try:
        return unread_bytes(1) > 0 or unread_bytes(2) > 0
    except OSError:
        return True


def unread_bytes(fd: int) -> int:
    """How many bytes a pipe holds; either end may be asked."""
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, AN_INT), sys.byteorder)


def messages(
    number: int,
    result: Result,
    *,
    is_stopped: bool = False,
    is_swollen: bool = False,
    has_lines: bool = False,
    seconds: float = 0.0,
) -> Iterator[Reply]:
    if isinstance(result, Completed):
        for chunk in result.chunks:
            yield Items(number=number, count=chunk.count, items=msgspec.Raw(chunk.data))
        yield Done(
            number=number,
            outcome=result.outcome,
            facts=result.facts,
            count=result.count,
            files=result.files,
            is_stopped=is_stopped,
            is_swollen=is_swollen,
            has_lines=has_lines,
            seconds=seconds,
        )
    else:
        yield Fault(
            number=number,
            code=result.code,
            message=result.message,
            is_retryable=result.is_retryable,
            retry_after_s=result.retry_after_s,
            has_lines=has_lines,
            seconds=seconds,
        )


def limit_time(order: Order, limits: Limits) -> None:
    """Bound the processor time of this job, and set the alarm that logs its stack before the deadline.

    The kernel counts from the start of the process, so what earlier jobs used is added. Only the
    soft limit is set: the hard one could not be raised again for the next job.
    """
    cpu_s = order.timeout_s if limits.cpu_s is None else limits.cpu_s
    # Up: RLIMIT_CPU has whole seconds, and a job must get no less than the setting says.
    soft = math.ceil(time.process_time() + cpu_s)
    before, hard = resource.getrlimit(resource.RLIMIT_CPU)
    # Whole seconds: for quick jobs it is mostly the limit of the job before.
    if before != cap_limit(soft, hard):
        resource.setrlimit(resource.RLIMIT_CPU, (cap_limit(soft, hard), hard))
    warning_s = order.timeout_s - min(WARNING_S_MAX, order.timeout_s * WARNING_SHARE)
    signal.setitimer(signal.ITIMER_REAL, warning_s)

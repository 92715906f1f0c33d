"""One attempt as the worker sees it: the order that is sent, and the answers of a child, believed only when checked."""

import contextlib
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward.core.errors import ArtifactError, ArtifactsUnreachable, InvalidRequest, StoreError
from stateward.core.files import DerivedFile, file_fault, name_fault
from stateward.core.model import EarlierItems, Fields, Micros, clean_text
from stateward.workers import child_protocol as protocol
from stateward.workers.attempt_log import LINE_CHARS_MAX, AttemptLog
from stateward.workers.failures import CODE_CHARS_MAX
from stateward.workers.inputs import InputFolder
from stateward.workers.job_files import DERIVED_FOLDER, PIECE_BYTES
from stateward.workers.json_values import KEY_CHARS_SHOWN_MAX, NUL_ESCAPED, clean_value
from stateward.workers.results import (
    CHUNK_BYTES_MAX,
    CHUNK_ITEMS_MAX,
    DONE,
    KIB,
    Chunks,
    Completed,
    Failed,
    Limits,
    NotStored,
    Result,
)
from stateward.workers.sdk import (
    ABOUT_BYTES_MAX,
    FACTS_BYTES_MAX,
    LABEL_CHARS_MAX,
    SAVED_BYTES_MAX,
    SAVED_NAME_CHARS_MAX,
    SavedValues,
    UnsavedValues,
)
from stateward.workers.wire import READ_BYTES, ProtocolViolation

# Loading is not part of a stage's timeout: a stage of 1 s may need libraries that take 10 s to import. But an import
# that hangs must end in a result as well.
LOAD_S_MAX = 60.0
# A job that writes without end in small pieces would wake the loop for each of them. After so many
# small reads its descriptors are left alone for PACE_S at a time, so that pieces come together.
SMALL_READS_MAX = 50
PACE_S = 0.005
# Inputs up to this size travel in their order: only such jobs are sent ahead.
SMALL_INPUT_CHARS = 64 * KIB
# Each request is a query or a commit that the worker's loop waits for: a job must not keep it busy with them.
REQUESTS_MAX = 1000
BROKE_PROTOCOL = "RUNNER_BROKE_PROTOCOL"
FILES_NOT_STORED = "FILES_NOT_STORED"
_encode = msgspec.json.Encoder().encode
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
    earlier: EarlierItems | None = None

    @property
    def is_small(self) -> bool:
        """Whether its inputs are in memory and few, so that it may be sent ahead."""
        if self.earlier is not None and self.earlier.items:
            return False
        size = 0
        for chunks in self.items.values():
            if not isinstance(chunks, list):  # those in the database are read one by one
                return False
            size += sum(map(len, chunks))
        return size <= SMALL_INPUT_CHARS


class AttemptFiles(Protocol):
    """Where a worker stores the derived files of an attempt, and finds those of earlier stages."""

    def announce(self, digests: Sequence[str]) -> None:
        """Say which bytes `put` is about to store; durable on return."""

    def put(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> int | None:
        """Store these bytes durably; how many, None if that is not their SHA-256: then nothing is stored.

        `InvalidRequest` if there are more than `bytes_max`.
        """

    def find(self, stage: str, name: str) -> Path | None:
        """The file that an earlier stage saved under a name, or None."""


Answer: TypeAlias = protocol.Line | protocol.Items | protocol.Done | protocol.Fault


class ChildAttempt:
    """The job under way: what came of it so far, and how long it may still take."""

    def __init__(
        self,
        order: JobOrder,
        limits: Limits,
        *,
        number: int,
        kill_at: float,
        folder: Path,
        inputs: InputFolder,
        now: Callable[[], Micros],
        saved_values: SavedValues | None,
        files: AttemptFiles | None,
    ) -> None:
        self.order = order
        self._inputs = inputs
        self._found: list[str] = []
        self._now = now
        self._log: AttemptLog | None = None  # most jobs log nothing
        self.number = number
        self.permit = number.to_bytes(protocol.PERMIT_BYTES, "big")
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

    @property
    def log(self) -> AttemptLog:
        """Where its lines go."""
        if self._log is None:
            self._log = AttemptLog(bytes_max=self._limits.log_bytes_max, now=self._now)
        return self._log

    def with_log(self, result: Result) -> Result:
        """Its result, with what was logged."""
        text = "" if self._log is None else self._log.text()
        return replace(result, log=text) if text else result

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
            return protocol.NOT_LOADED, f"the pipelines were not loaded within {LOAD_S_MAX:g} s"
        return "TIMEOUT", self.order.timeout_message

    def answer(self, request: protocol.Request) -> protocol.RequestReply:
        """Save a value for the stage of this job, load one, or find a derived file of an earlier stage.

        A child names no record: it is that of its order, so it reaches no other record's values and files. A
        database error goes to the runner as a retryable failure.
        """
        self._requests += 1
        data = request.data if isinstance(request, protocol.SaveValue) else b""
        is_small = 0 < len(request.name) <= SAVED_NAME_CHARS_MAX and len(data) <= SAVED_BYTES_MAX
        if request.number != self.number or not is_small or self._requests > REQUESTS_MAX:
            raise ProtocolViolation("it sent a request that the SDK would have refused")
        name = clean_text(request.name, chars_max=SAVED_NAME_CHARS_MAX)
        try:
            if isinstance(request, protocol.FindFile):
                return protocol.RequestReply(data=self._find(request.stage, name))
            if isinstance(request, protocol.LoadValue):
                return protocol.RequestReply(data=self._values.load(name))
            self._values.save(name, data)
        except (StoreError, ArtifactError) as error:
            return protocol.RequestReply(error=f"the worker could not do it: {error}")
        return protocol.RequestReply()

    @property
    def _values(self) -> SavedValues:
        if self._saved_values is None:
            self._saved_values = UnsavedValues()
        return self._saved_values

    def _find(self, stage: str, name: str) -> bytes | None:
        found = None if self._files is None or name_fault(name) else self._files.find(stage, name)
        if found is None:
            return None
        self._found.append(self._inputs.add(str(found)))
        return self._found[-1].encode()

    def forget_inputs(self) -> None:
        """Take its files out of the folder that the child reads: they are not the next job's."""
        path = self.order.artifact_path
        for each in (*(() if path is None else (path,)), *self._found):
            self._inputs.remove(each)

    def take(self, reply: protocol.Ready | Answer) -> Result | None:
        """Check a message and use it; the result if it is the last one.

        Limits that the SDK enforces in the child are checked again here, and a breach is a protocol
        violation: an intact child would have failed with a clear error before.
        """
        if isinstance(reply, protocol.Ready):
            raise ProtocolViolation("it said twice that it was ready")
        if isinstance(reply, protocol.Line):
            # A thread that an earlier job left behind may still log: its lines are dropped, it is no breach.
            if reply.number == self.number:
                self.log.write(reply.level, reply.message, reply.facts)
            return None
        if reply.number != self.number:
            raise ProtocolViolation("it answered another job than it was asked for")
        if isinstance(reply, protocol.Items):
            self._add(reply)
            return None
        if isinstance(reply, protocol.Done):
            return self._complete(reply)
        return Failed(
            code=clean_text(reply.code, chars_max=CODE_CHARS_MAX),
            message=clean_text(reply.message, chars_max=self._limits.message_chars_max),
            is_retryable=reply.is_retryable,
            retry_after_s=reply.retry_after_s,
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

    def _add(self, reply: protocol.Items) -> None:
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
        self._chunks.append(reply.count, _check(raw, reply.count))

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
        if NUL_ESCAPED in raw and clean_value(about) != about:
            raise ProtocolViolation("it sent text with NUL in it")
        self._is_told = True
        self._chunks.append(0, raw)

    def _bytes_over(self) -> bool:
        """Whether there are more bytes than the SDK lets through.

        The SDK counts each item and one separator: a chunk has one byte more, its second bracket. The
        chunk at hand is not in `_chunks` yet.
        """
        return self._bytes > self._limits.items_bytes_max + len(self._chunks) + 1

    def _complete(self, done: protocol.Done) -> Result:
        if done.count != self._count:
            raise ProtocolViolation(f"it counted {done.count} items and sent {self._count}")
        if done.facts or done.outcome != DONE:
            _check_outcome(done)
        try:
            if done.files:
                self._store(done.files)
        except ArtifactsUnreachable as error:
            why = f"its files could not be stored: {error}"
            return NotStored(code=FILES_NOT_STORED, message=why, log="", has_begun=False)
        except StoreError as error:
            why = f"its files could not be stored: {error}"
            return Failed(code=FILES_NOT_STORED, message=why, is_retryable=True)
        return Completed(
            outcome=done.outcome,
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
        if self._files is None:
            raise ProtocolViolation("it saved a file where none can be stored")
        self._files.announce([file.sha256 for file in files])
        for number, file in enumerate(files):
            with _derived_file(self._folder, number) as pieces:
                _take_over(self._files, file, pieces)


def _take_over(files: AttemptFiles, file: DerivedFile, pieces: Iterator[bytes]) -> None:
    shown = file.name[:KEY_CHARS_SHOWN_MAX]
    try:
        size = files.put(file.sha256, pieces, bytes_max=file.size)
    except InvalidRequest as error:  # longer than it said
        raise ProtocolViolation(f"its file {shown} changed after it was saved") from error
    if size != file.size:
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


def order_frames(order: JobOrder, number: int) -> Iterator[bytes]:
    """The order with its inputs, or, if they are not small, each chunk as a frame of its own: none grows with them."""
    is_small = order.is_small
    small = order.items.items() if is_small else ()
    yield _encode(
        protocol.Order(
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
            earlier=order.earlier,
            items={name: [msgspec.Raw(chunk.encode()) for chunk in each] for name, each in small},
        )
    )
    if not is_small:
        for chunks in order.items.values():
            for chunk in chunks:
                yield chunk.encode()


def _check_outcome(done: protocol.Done) -> None:
    label = clean_text(done.outcome, chars_max=LABEL_CHARS_MAX)
    facts = msgspec.json.encode(done.facts)
    if label != done.outcome or not label or len(facts) > FACTS_BYTES_MAX:
        raise ProtocolViolation("it sent an outcome that the SDK never sends")
    if NUL_ESCAPED in facts and clean_value(done.facts) != done.facts:
        raise ProtocolViolation("it sent facts that the SDK never sends")


def _check(raw: bytes, count: int) -> bytes:
    """The chunk, if it is an array of so many JSON objects; stored as it came, not encoded again."""
    try:
        items = _items.decode(raw)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ProtocolViolation(f"it sent items that are not JSON objects: {error}") from error
    if len(items) != count:
        raise ProtocolViolation(f"it sent {len(items)} items as {count}")
    if NUL_ESCAPED in raw and clean_value(items) != items:
        raise ProtocolViolation("it sent text with NUL in it")
    return raw

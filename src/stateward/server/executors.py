"""The threads behind the API: one that writes, two that read, a few that wait for the disk.

Each is one thread with one connection and one queue; no request waits for a pool. The writer takes all that has come
meanwhile and commits it together, so that one durable commit serves many requests; what it did is told to the
event loop when it is on the disk. A request that must be done once is written together with its answer.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

import msgspec

from stateward.app import App
from stateward.app.actions import Command
from stateward.core.errors import (
    ConcurrentModification,
    StatewardError,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from stateward.core.model import Record
from stateward.engine.coordinator import Submission, Submitted
from stateward.server.problems import Refusal, refusal_of
from stateward.server.views import stale_answer
from stateward.storage.idempotency import Answer, IdempotentRequest

GROUP_MAX = 256
# A commit waits so long for documents that are being stored at that moment: a commit for each takes half as much time
# again of all processes behind it. Who sends one document after the other never waits.
GATHER_S = 0.005
WAITING_MAX = 5000
REPLAYED = "Idempotency-Replayed"

T = TypeVar("T")
Job = tuple[Callable[[App], Any], "asyncio.Future[Any]"]
Told = tuple["asyncio.Future[Any]", Any, Exception | None]


class DbThread:
    """A thread that answers one question after the other, with an App of its own, or a borrowed one."""

    def __init__(
        self, name: str, *, open_app: Callable[[], App], is_borrowed: bool = False
    ) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._open_app = open_app
        self._is_borrowed = is_borrowed
        self.app: App | None = None
        self._is_open = Event()
        self._trouble: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._is_at_work = False
        self._thread = Thread(target=self._work, name=f"stateward-{name}", daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether something is being done, or waits to be; any thread may ask."""
        return self._is_at_work or not self._queue.empty()

    def opened(self) -> None:
        """Wait until the thread has its connection; raise what kept it from it."""
        self._is_open.wait()
        if self._trouble is not None:
            raise self._trouble

    async def ask(self, act: Callable[[App], T]) -> T:
        """Have something done by the thread."""
        if self._queue.qsize() >= WAITING_MAX:
            raise overload_refusal()
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((act, future))
        return await future

    def close(self) -> None:
        """Finish what was asked for, and end."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            app = self.app = self._open_app()
        except Exception as error:  # noqa: BLE001 - raised again in the thread that starts the service
            self._trouble = error
            return
        finally:
            self._is_open.set()
        with nullcontext() if self._is_borrowed else app:
            self._serve(app)

    def _serve(self, app: App) -> None:
        while True:
            self._is_at_work = False
            if (job := self._queue.get()) is None:
                return
            self._is_at_work = True
            act, future = job
            try:
                done = act(app)
                if isinstance(done, Handover):
                    done.write.future = future
                    done.writer.take(done.write)
                    continue
                outcome: Told = (future, done, None)
            except Exception as error:  # noqa: BLE001 - it belongs to the request, not to the thread
                outcome = (future, None, error)
            tell(self._loop, [outcome])


def tell(loop: asyncio.AbstractEventLoop, told: Sequence[Told]) -> None:
    """Settle futures of the loop from another thread; a loop that has ended hears nothing."""

    def settle() -> None:
        for future, result, error in told:
            if future.done():
                continue  # its request went away meanwhile
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)


def overload_refusal() -> Refusal:
    """There is more to do than the service will promise."""
    return Refusal(
        "unavailable", "too much is under way; come back soon", headers={"Retry-After": "1"}
    )


class Open(msgspec.Struct, frozen=True):
    opening: Submission


class Ask(msgspec.Struct, frozen=True):
    """A record to retry or cancel."""

    asking: Command


class Call(msgspec.Struct, frozen=True):
    """Anything else that is written, in a transaction of its own."""

    act: Callable[[App], object]


class Condition(msgspec.Struct, frozen=True):
    """What must hold where something is written; those of one name are one and the same.

    `ask` begins to find out, and gives what raises if it does not hold: it is called last, and then nothing is written.
    """

    name: str
    ask: Callable[[App], Callable[[], None]]


class Write(msgspec.Struct, kw_only=True):
    """Something to be written, and how to say what became of it. `once`: and if it is asked for again."""

    intent: Open | Ask | Call
    answer: Callable[[App, Any], Any]
    once: IdempotentRequest | None = None
    condition: Condition | None = None
    future: "asyncio.Future[Any] | None" = None


class Handover(msgspec.Struct, frozen=True):
    """What a thread leaves to the writer, which answers the request instead: the event loop need not pass it on."""

    writer: "Writer"
    write: Write


class Writer(DbThread):
    """The one thread through which requests change anything."""

    def __init__(self, *, open_app: Callable[[], App]) -> None:
        self._under_way: set[str] = set()
        self.sources: Sequence[DbThread] = ()
        """The threads that hand over to this one: what they are at is waited for a little."""
        super().__init__("writer", open_app=open_app)

    async def write(
        self,
        intent: Open | Ask | Call,
        answer: Callable[[App, Any], Answer],
        *,
        once: IdempotentRequest | None = None,
    ) -> Answer:
        """Have it written; the answer, when it is on the disk."""
        answered: Answer = await self._write(Write(intent=intent, answer=answer, once=once))
        return answered

    async def ask(self, act: Callable[[App], T]) -> T:
        """Have something written, in a transaction of its own."""
        done: T = await self._write(Write(intent=Call(act), answer=lambda _, result: result))
        return done

    async def _write(self, write: Write) -> Any:  # noqa: ANN401 - what the write answers with
        write.future = self._loop.create_future()
        self.take(write)
        return await write.future

    def take(self, write: Write) -> None:
        """Have it written after what came before, from any thread; who asked is told by its future."""
        if self._queue.qsize() >= WAITING_MAX:
            raise overload_refusal()
        self._queue.put(write)

    def begin(self, once: IdempotentRequest | None) -> None:
        """Note that a request that must be done once is under way; refuse a second one meanwhile."""
        if once is None:
            return
        if once.name in self._under_way:
            raise Refusal(
                "in-progress",
                "a request with this Idempotency-Key is still under way; its answer comes with the next try",
                headers={"Retry-After": "1"},
            )
        self._under_way.add(once.name)

    def end(self, once: IdempotentRequest | None) -> None:
        """It is not under way any more."""
        if once is not None:
            self._under_way.discard(once.name)

    # In the thread

    def _serve(self, app: App) -> None:
        while (first := self._queue.get()) is not None:
            group, is_last = self._gather(first)
            for part in _parts(group):
                self._commit_all(app, part)
            if is_last:
                return

    def _gather(self, first: Write) -> tuple[list[Write], bool]:
        """All that waits or is about to come, up to a limit; whether the thread is to end after it."""
        group = [first]
        until = time.monotonic() + GATHER_S
        while len(group) < GROUP_MAX:
            try:
                following = self._queue.get(timeout=self._patience_s(until))
            except Empty:
                break
            if following is None:
                return group, True
            group.append(following)
        return group, False

    def _patience_s(self, until: float) -> float:
        is_more_coming = self._queue.empty() and any(each.is_busy for each in self.sources)
        return max(0.0, until - time.monotonic()) if is_more_coming else 0.0

    def _commit_all(self, app: App, group: Sequence[Write]) -> None:
        """Write a group in one transaction; if that fails, each for itself."""
        try:
            answers = _answers(app, group)
        except Exception as error:  # noqa: BLE001 - it belongs to the requests, not to the thread
            if len(group) > 1 and not isinstance(error, StoreUnreachable | StoreFull):
                for each in group:
                    self._commit_all(app, [each])
                return
            self._tell([(each, None, error) for each in group])
            return
        self._tell([(each, answer, None) for each, answer in zip(group, answers, strict=True)])

    def _tell(self, told: Sequence[tuple[Write, Any, Exception | None]]) -> None:
        tell(
            self._loop,
            [
                (write.future, answer, error)
                for write, answer, error in told
                if write.future is not None
            ],
        )


def _parts(group: Sequence[Write]) -> list[list[Write]]:
    """Openings and requests together; everything else, and what would stand twice in a part, for itself."""
    parts: list[list[Write]] = [[]]
    seen: set[str] = set()
    for write in group:
        name = "" if write.once is None else write.once.name
        if isinstance(write.intent, Call) or (name and name in seen):
            parts += [[write], []]
            continue
        if name:
            seen.add(name)
        parts[-1].append(write)
    return [part for part in parts if part]


def _answers(app: App, group: Sequence[Write]) -> list[Any]:
    conditions = {each.condition.name: each.condition for each in group if each.condition}
    with app.database.transaction():
        checks = [each.ask(app) for each in conditions.values()]
        given = _earlier_answers(app, [each.once for each in group if each.once is not None])
        left = [each for each in group if each.once is None or each.once.name not in given]
        results = _results(app, [each.intent for each in left])
        made: dict[int, Any] = {}
        for each, result in zip(left, results, strict=True):
            answer = made[id(each)] = _answer(app, each, result)
            if each.once is not None and not app.idempotency.remember(
                each.once, answer, now=app.clock()
            ):
                # Another process was quicker with the same key. Nothing of this counts; the next try finds its answer.
                raise StoreError(f"the answer to {each.once.key!r} was kept meanwhile")
        for check in checks:
            check()
        return [made[id(each)] if id(each) in made else given[_name(each)] for each in group]


def _name(write: Write) -> str:
    return "" if write.once is None else write.once.name


def _earlier_answers(app: App, wanted: Sequence[IdempotentRequest]) -> dict[str, Answer]:
    """The answers to what was done before, by name; another request under the same key is refused."""
    found = app.idempotency.answers(wanted)
    given: dict[str, Answer] = {}
    for once in wanted:
        kept = found.get((once.caller, once.key))
        if kept is None:
            continue
        fingerprint, answer = kept
        given[once.name] = (
            msgspec.structs.replace(answer, headers={**answer.headers, REPLAYED: "true"})
            if fingerprint == once.fingerprint
            else Refusal(
                "key-reused", "this Idempotency-Key was used for another request; take a new one"
            ).answer()
        )
    return given


def _results(app: App, intents: "Sequence[Open | Ask | Call]") -> list[object]:
    openings = [each.opening for each in intents if isinstance(each, Open)]
    askings = [each.asking for each in intents if isinstance(each, Ask)]
    opened: list[Submitted] = app.submissions.create(openings) if openings else []
    outcomes: list[Record | StatewardError] = app.actions.act_each(askings) if askings else []
    opened.reverse()
    outcomes.reverse()
    results: list[object] = []
    for each in intents:
        match each:
            case Open():
                results.append(opened.pop())
            case Ask():
                results.append(outcomes.pop())
            case Call():
                results.append(each.act(app))
    return results


def _answer(app: App, write: Write, result: object) -> Any:  # noqa: ANN401 - what the write answers with
    if isinstance(result, ConcurrentModification):
        record = app.store.get(result.record_id)
        return (
            refusal_of(result).answer() if record is None else stale_answer(result, record.version)
        )
    if isinstance(result, StatewardError):
        return refusal_of(result).answer()
    return write.answer(app, result)

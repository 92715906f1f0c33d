"""The state of a running HTTP server: database threads, hub, rate limits, bulk actions in progress."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from typing import TypeVar

from stateward import telemetry
from stateward.app import App
from stateward.core.errors import StatewardError, UnknownName
from stateward.core.model import PERSON, SECOND, Micros
from stateward.schemas import ReadyCheck
from stateward.server import bulk
from stateward.server.executors import DbThread, Writer, overload_refusal
from stateward.server.hub import Hub
from stateward.server.problems import Refusal
from stateward.server.throttle import Failures
from stateward.server.turns import Turns
from stateward.settings import Settings
from stateward.storage.audit import KEY_USED, AuditEntry
from stateward.storage.database import TOPIC_CHANGES
from stateward.storage.keys import ApiKey

CARE_EVERY_S = 60.0
USE_NOTED_EVERY = 3600 * SECOND
UPLOAD_THREADS = 4
TROUBLE_PAUSE_S = 2.0
MINUTE_S = 60.0
FOLLOW_PAUSE_S = 0.01
CALLERS_MAX = 10_000
"""So many callers' rates are remembered; then those that were quiet for a minute are forgotten: theirs are full."""

T = TypeVar("T")


class Service:
    """Everything that a request can ask for; it lives on one event loop."""

    quick: DbThread
    """Reads that follow an index to one record: keys, records by id."""

    broad: DbThread
    """Reads that may take longer: lists, histories, items."""

    upload_threads: list[DbThread]
    """Wait for the disk: each upload has one of them, which writes and syncs it. The disk syncs several at once."""

    writer: Writer
    hub: Hub

    def __init__(self, settings: Settings, *, open_app: Callable[[], App]) -> None:
        self.settings = settings
        self.log = telemetry.log("api")
        self.failures = Failures()
        self.known_keys: dict[bytes, ApiKey | None] = {}
        """Who was let in before, by the hash of what was shown; None under "": there is no key, and none is needed."""
        self.known_sessions: set[bytes] = set()
        """Sessions that were let in before, by the hash of their tokens: they go before strangers."""
        self.rates = Rates(settings.api.rate_per_minute, burst=settings.api.burst)
        self.requests = 0
        self.readiness: asyncio.Future[list[ReadyCheck]] | None = None
        """The last look at whether the service can work; all who ask meanwhile wait for the same."""
        self.turns = Turns()
        self.page_turns = Turns()
        """Those of strangers who call the API, and of those who want pages and their files."""
        self.let_in = Places(settings.api.requests_max)
        self.streams = Places(settings.api.streams_max)
        self.is_open = False
        self._open_app = open_app
        self._used: set[str] = set()
        self._use_noted: dict[str, Micros] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches: set[str] = set()
        self._is_catching_up = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open while this lasts; raises what keeps it closed."""
        await self._start()
        try:
            yield
        finally:
            await self._stop()

    async def _start(self) -> None:
        """Open the connections; raise what keeps them closed."""
        threads = [
            DbThread("reader", open_app=self._open_app),
            DbThread("searcher", open_app=self._open_app),
            Writer(open_app=self._open_app),
        ]
        for thread in threads:
            thread.opened()
        self.quick, self.broad = threads[:2]
        assert isinstance(threads[2], Writer)  # noqa: S101 - made just now
        self.writer = threads[2]
        quick_app = self.app
        self.upload_threads = [
            DbThread(f"upload-{number}", open_app=lambda: quick_app, is_borrowed=True)
            for number in range(UPLOAD_THREADS)
        ]
        for thread in self.upload_threads:
            thread.opened()
        self.writer.sources = tuple(self.upload_threads)
        self.hub = Hub(quick_app.database.wakeup(TOPIC_CHANGES))
        self.is_open = True
        self._spawn(self._care())
        for batch_id in await self.broad.ask(lambda app: app.idempotency.running()):
            self.run_batch(batch_id)

    async def _stop(self) -> None:
        """Finish what was promised and let go."""
        self.is_open = False
        self.hub.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._note_use()
        for thread in (*self.upload_threads, self.writer, self.broad, self.quick):
            thread.close()

    @property
    def app(self) -> App:
        """An App for what it holds in memory, such as machines; its database is for the thread `quick`."""
        app = self.quick.app
        assert app is not None  # noqa: S101 - the service is open
        return app

    async def aside(self, name: str, act: Callable[[App], T]) -> T:
        """Have something long done by a thread of its own, with an App of its own, while all else goes on."""
        thread = DbThread(name, open_app=self._open_app)
        try:
            return await thread.ask(act)
        finally:
            await asyncio.get_running_loop().run_in_executor(None, thread.close)

    def upload_thread(self) -> DbThread:
        """Who takes the next upload in; they take turns."""
        self.upload_threads.append(self.upload_threads.pop(0))
        return self.upload_threads[-1]

    def remember_key(self, shown: str, key: ApiKey | None) -> None:
        """Note who was let in, for routes that begin with that and ask again where they write."""
        if len(self.known_keys) >= CALLERS_MAX:
            self.known_keys.clear()
        self.known_keys[shown_hash(shown)] = key

    def remember_session(self, token: str) -> None:
        """Note who was signed in when they asked."""
        if len(self.known_sessions) >= CALLERS_MAX:
            self.known_sessions.clear()
        self.known_sessions.add(shown_hash(token))

    def used(self, key_id: str) -> None:
        """Note that a key was used; it is written once a minute."""
        self._used.add(key_id)

    # Bulk actions

    def run_batch(self, batch_id: str) -> None:
        """Carry a bulk action out, a step at a time, in between what others ask for."""
        if batch_id not in self._batches:
            self._batches.add(batch_id)
            self._spawn(self._run_batch(batch_id))

    async def _run_batch(self, batch_id: str) -> None:
        try:
            while True:
                try:
                    batch = await self.writer.ask(lambda app: bulk.step(app, batch_id))
                except UnknownName:
                    return
                except StatewardError as error:
                    self.log.warning(f"batch {batch_id} is retried: {error}")
                    await asyncio.sleep(TROUBLE_PAUSE_S)
                    continue
                if batch.status != "running":
                    return
        finally:
            self._batches.discard(batch_id)

    # Care

    def catch_up(self) -> None:
        """Have the counters follow the log, a little at a time: so that to count costs the same however long it is."""
        if not self._is_catching_up:
            self._is_catching_up = True
            self._spawn(self._follow())

    async def _follow(self) -> None:
        try:
            is_behind = True
            while is_behind:
                is_behind = await self.broad.ask(
                    lambda app: app.monitor.update_counters(batches_max=1)
                )
                await asyncio.sleep(FOLLOW_PAUSE_S)
        except StatewardError as error:
            self.log.warning(f"updating the counters is retried: {error}")
        finally:
            self._is_catching_up = False

    async def _care(self) -> None:
        kept = round(self.settings.api.idempotency_seconds * SECOND)
        while True:
            await asyncio.sleep(CARE_EVERY_S)
            self.catch_up()
            try:
                await self._note_use()
                await self.writer.ask(lambda app: _forget(app, kept))
            except StatewardError as error:
                self.log.warning(f"deleting expired idempotency keys is retried: {error}")

    async def _note_use(self) -> None:
        used, self._used = self._used, set()
        if used:
            with suppress(StatewardError):
                await self.writer.ask(lambda app: self._write_use(app, sorted(used)))

    def _write_use(self, app: App, used: Sequence[str]) -> None:
        """When keys were used last; and in the audit log that they were, once an hour for each."""
        now = app.clock()
        app.keys.note_use(used, now=now)
        due = {each for each in used if now - self._use_noted.get(each, 0) >= USE_NOTED_EVERY}
        found = [each for each in app.keys.all() if each.id in due]
        app.audit.add(
            [
                AuditEntry(
                    at=now,
                    actor=f"{PERSON}{each.name}@{each.id}",
                    verb=KEY_USED,
                    detail={"key_id": each.id, "role": each.role},
                )
                for each in found
            ]
        )
        self._use_noted |= {each.id: now for each in found}

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def shown_hash(shown: str) -> bytes:
    """What a key is remembered by: its text is not kept."""
    return sha256(shown.encode("utf-8", "replace")).digest()


def _forget(app: App, kept: Micros) -> None:
    """Delete answers that are not asked for again, and bulk actions that were not confirmed in time."""
    app.idempotency.forget(before=app.clock() - kept)
    app.idempotency.forget_checked(before=app.clock() - bulk.CONFIRM_WITHIN)


class Places:
    """What may be under way at once: so much for all callers together, and half of it for one key.

    Requests that wait and streams cost little and last long: with all of them, one key would keep out all others.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_of_one = (most + 1) // 2
        self._count = 0
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken_by(self, caller: str, *, is_key: bool) -> Iterator[None]:
        """One place, as long as this lasts; `Refusal` where there is none."""
        if self._count >= self._most:
            raise overload_refusal()
        if is_key and self._taken[caller] >= self._most_of_one:
            raise Refusal(
                "too-many-requests",
                f"this key has {self._taken[caller]} requests under way; let some of them end first",
                headers={"Retry-After": "1"},
            )
        self._count += 1
        self._taken[caller] += 1
        try:
            yield
        finally:
            self._count -= 1
            self._taken[caller] -= 1
            if not self._taken[caller]:
                del self._taken[caller]


class Rates:
    """How many requests each caller may still send: a bucket that fills evenly."""

    def __init__(
        self,
        per_minute: int,
        *,
        burst: int,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_minute = per_minute
        self._burst = burst
        self._ticks = ticks
        self._left: dict[str, tuple[float, float]] = {}

    def has_left(self, caller: str) -> bool:
        """Whether a caller had a request left when the last one was taken; any thread may ask."""
        known = self._left.get(caller)
        return known is None or known[0] >= 1

    def take(self, caller: str, *, per_minute: int | None = None) -> float:
        """Take one request of a caller's; 0, or the seconds to wait for the next one."""
        rate = (per_minute or self._per_minute) / MINUTE_S
        burst = min(self._burst, max(1, per_minute)) if per_minute else self._burst
        now = self._ticks()
        if len(self._left) >= CALLERS_MAX:
            self._left = {who: had for who, had in self._left.items() if now - had[1] < MINUTE_S}
        left, at = self._left.get(caller, (float(burst), now))
        left = min(float(burst), left + (now - at) * rate)
        if left < 1:
            self._left[caller] = (left, now)
            return (1 - left) / rate
        self._left[caller] = (left - 1, now)
        return 0.0

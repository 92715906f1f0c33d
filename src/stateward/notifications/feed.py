"""The change feed: follows the history and publishes every transition as a CloudEvent, in order, at least once.

The cursor is a row of `followers`, and moves when the engine has acknowledged a batch. A sender that dies in between
sends the batch again, so consumers see repetitions and no gaps; each event carries the record's version and the `seq`
of the transition, by which a consumer ignores what it knows. One sender works at a time: on PostgreSQL it locks the row
of the cursor while it sends, on SQLite a file in the data folder, and both end with their process. So a dead sender
needs no lease to run out, and two never mix their batches.

It changes no record, and nothing waits for it.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.erasure import RECORD_ERASED
from stateward.core.errors import InvalidRequest
from stateward.core.model import SECOND, Fields, Micros, Transition, to_iso
from stateward.core.query import Query, parse_query
from stateward.notifications.feed_targets import FeedMessage, FeedTarget
from stateward.notifications.messages import ERASED, exposed_facts, is_subscribed
from stateward.settings.feed import FeedSettings
from stateward.storage.database import Database
from stateward.storage.search import where
from stateward.storage.store import Store

FOLLOWER = "feed"
LOCK_FILE = "feed.lock"
TYPE_PREFIX = "stateward"
# Of the keys that a query of a feed may have, those that no erasure takes away.
SURVIVING_KEYS = ("machine", "created")


class FeedStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far the feed has come."""

    sent: int
    """The `seq` of the last transition that was sent, or passed over."""
    end: int
    behind: int
    """How many transitions are not sent yet."""
    oldest_at: Micros | None
    """When the first of these was made."""

    def late_s(self, now: Micros) -> float:
        """How long the first unsent transition has waited."""
        return 0.0 if self.oldest_at is None else max(0.0, (now - self.oldest_at) / SECOND)


class Feed:
    """The feed of one store. For one thread, with a database connection of its own."""

    def __init__(
        self,
        settings: FeedSettings,
        *,
        database: Database,
        store: Store,
        source: str | None,
        lock_folder: Path | None,
        kinds: Callable[[], Mapping[str, Mapping[str, str]]],
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._source = source or "/stateward"
        self._lock_folder = lock_folder
        self._kinds = kinds
        self._query = parse_query(settings.query, now=0)
        terms = tuple(each for each in self._query.terms if each.key in SURVIVING_KEYS)
        self._surviving = replace(self._query, terms=terms)

    def status(self) -> FeedStatus:
        """How far it has come, and how late it is."""
        sent, end = self._cursor(), self._store.log.end()
        next_ = self._store.log.between(sent, end, limit=1)
        ((behind,),) = self._database.rows(
            "SELECT count(*) FROM transitions WHERE seq > :sent AND seq <= :until",
            sent=sent,
            until=end,
        )
        oldest = next_[0].at if next_ else None
        return FeedStatus(sent=sent, end=end, behind=int(behind or 0), oldest_at=oldest)

    def replay(self, seq: int) -> None:
        """Have everything from this transition on sent again; one that is ahead of the cursor is refused."""
        with self._only_sender(must_wait=True):
            sent = self._cursor()
            if not 1 <= seq <= sent + 1:
                raise InvalidRequest(
                    f"give a seq from 1 to {sent + 1}: what follows is not sent yet"
                )
            self._move(seq - 1)

    def step(self, target: FeedTarget) -> int:
        """Send one batch; how many transitions were sent or passed over. 0 also where another process sends."""
        with self._only_sender() as is_own:
            if not is_own:
                return 0
            sent = self._cursor()
            until = self._store.log.end()
            batch = self._store.log.between(sent, until, limit=self._settings.batch_max)
            if not batch:
                return 0
            if messages := self._messages(batch):
                target.send(messages)
            self._move(batch[-1].seq)
            return len(batch)

    def _messages(self, batch: Sequence[Transition]) -> list[FeedMessage]:
        wanted = [
            each
            for each in batch
            # Who was told of a status is told of the erasure of what came with it.
            if is_subscribed(self._settings.events, each.machine, each.target)
            or is_subscribed(self._settings.events, each.machine, _news(each))
        ]
        matching, labels = self._of_records({each.record_id for each in wanted}, self._query)
        # What the query asks for may be erased. Who was told of a record has to hear that it was, and it says nothing
        # of the record to others.
        erased, _ = self._of_records(
            {each.record_id for each in wanted if _news(each) == ERASED} - matching, self._surviving
        )
        return [
            self._message(each, labels.get(each.record_id, {}))
            for each in wanted
            if each.record_id in matching or (_news(each) == ERASED and each.record_id in erased)
        ]

    def _of_records(self, ids: set[str], query: Query) -> tuple[set[str], dict[str, Fields]]:
        """Which of these records match a query, and their labels where events carry them."""
        needs_labels = "labels" in self._settings.fields
        if not (query.terms or needs_labels) or not ids:
            return ids, {}
        among, given = self._database.among("id", sorted(ids))
        condition, params = where(query, kinds=self._kinds())
        rows = self._database.rows(
            f"SELECT id, labels FROM records WHERE {among} AND ({condition})", **given, **params
        )
        decode = msgspec.json.Decoder(Fields).decode
        return (
            {str(id_) for id_, _ in rows},
            {str(id_): decode(str(text)) for id_, text in rows} if needs_labels else {},
        )

    def _message(self, made: Transition, labels: Fields) -> FeedMessage:
        body = self._body(made, labels, is_whole=True)
        if len(body) > self._settings.event_bytes_max:
            body = self._body(made, labels, is_whole=False)
        topic = self._settings.topic.replace("{machine}", made.machine)
        return FeedMessage(
            topic=topic.replace("{status}", made.target),
            key=made.record_id,
            id=f"{made.record_id}.{made.version}",
            body=body,
        )

    def _body(self, made: Transition, labels: Fields, *, is_whole: bool) -> bytes:
        """A CloudEvent in structured mode, with the extensions for sequence, partitioning and tracing."""
        data: Fields = {
            "id": made.record_id,
            "machine": made.machine,
            "machine_version": made.machine_version,
            "status": made.target,
            "version": made.version,
            "seq": made.seq,
        }
        own: Fields = {
            "previous_status": made.source,
            "trigger": made.trigger,
            "actor": made.actor,
            "attempt": made.attempt,
            "facts": exposed_facts(made.metadata) if is_whole else None,
            "labels": labels if is_whole else None,
            "hash": made.hash,
        }
        data |= {name: own[name] for name in self._settings.fields}
        if not is_whole:
            data["is_shortened"] = True
        event: Fields = {
            "specversion": "1.0",
            "id": f"{made.record_id}.{made.version}",
            "source": self._source,
            "type": f"{TYPE_PREFIX}.{made.machine}.{_news(made)}",
            "subject": made.record_id,
            "time": to_iso(made.at),
            "datacontenttype": "application/json",
            "sequence": f"{made.seq:020d}",
            "partitionkey": made.record_id,
            "data": data,
        }
        if isinstance(trace := made.metadata.get("trace"), str):
            event["traceparent"] = trace
        return msgspec.json.encode(event)

    # The cursor

    def _cursor(self) -> int:
        found = self._database.rows("SELECT seq FROM followers WHERE name = :name", name=FOLLOWER)
        return int(found[0][0] or 0) if found else 0

    def _move(self, seq: int) -> None:
        with self._database.transaction():
            self._database.run(
                "UPDATE followers SET seq = :seq WHERE name = :name", seq=seq, name=FOLLOWER
            )

    @contextmanager
    def _only_sender(self, *, must_wait: bool = False) -> Iterator[bool]:
        """Whether no other process sends meanwhile."""
        with self._database.transaction():
            self._database.run(
                "INSERT INTO followers (name, seq) VALUES (:name, 0) ON CONFLICT (name) DO NOTHING",
                name=FOLLOWER,
            )
        if self._lock_folder is None:
            with self._database.transaction():
                # Waits while another process sends its batch; `status` asks without the lock, and never waits.
                lock = self._database.for_update
                self._database.rows(
                    f"SELECT seq FROM followers WHERE name = :name{lock}", name=FOLLOWER
                )
                yield True
            return
        with _lock(self._lock_folder / LOCK_FILE, must_wait=must_wait) as is_own:
            yield is_own


def _news(made: Transition) -> str:
    """The status that a record came into; an erasure brings it into none, and is no second end."""
    return ERASED if made.trigger == RECORD_ERASED else made.target


def _lock(path: Path, *, must_wait: bool) -> AbstractContextManager[bool]:
    @contextmanager
    def locked() -> Iterator[bool]:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if must_wait else fcntl.LOCK_NB))
            is_own = True
        except BlockingIOError:
            is_own = False
        try:
            yield is_own
        finally:
            os.close(descriptor)

    return locked()

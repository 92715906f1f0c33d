"""The outbox: which message goes to which endpoint and when, what was delivered, and what became a dead letter.

Deliveries are made from the committed history by a cursor that moves in the same transaction: every committed
transition is delivered at least once or ends as a dead letter, and nothing is delivered that was not committed. To take
a delivery means to move its next attempt beyond the longest time that one can last; if the process dies meanwhile, it
is tried again then. Nothing here uses the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from stateward.core.erasure import RECORD_ERASED
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import FLAGS, SECOND, Fields, Micros
from stateward.core.retry import spread
from stateward.notifications.deliveries import (
    ATTEMPT_COLUMNS,
    ATTEMPTS,
    DELIVERIES,
    OUTCOMES,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    FinishedAttempt,
    attempt_of,
    attempt_row,
    delivery_of,
    delivery_row,
)
from stateward.notifications.endpoints import Webhook, lock_cursor
from stateward.notifications.messages import (
    ERASED,
    FLAGGED,
    MessageNames,
    StatusChange,
    is_subscribed,
    message_body,
)
from stateward.notifications.sending import WebhookResponse
from stateward.storage.database import Database, Row, log_end
from stateward.storage.erasure import NOTIFIER

# Transitions of one transaction: some milliseconds of work under the lock of the cursor.
BATCH_MAX = 1000
PAGE_MAX = 1000
REPLAY_MAX = 10_000
PRUNE_MAX = 1000
ATTEMPTS_SHOWN_MAX = 1000
JITTER = 0.2  # of each wait, so that what failed together does not come back together

_COLUMNS = ", ".join(DELIVERIES.columns)
_CHANGE = "seq, record_id, version, machine, source, target, at, trigger, metadata"

_FLAGS_KEY = f'"{FLAGS}"'  # most transitions flag nothing, and are not decoded for it
_decode_fields = msgspec.json.Decoder(Fields).decode


class Outbox:
    """Deliveries, their attempts and the cursor, in the database that also holds the transitions."""

    def __init__(
        self,
        database: Database,
        *,
        backoff_s: Sequence[float],
        public_url: str | None = None,
        names: Mapping[str, MessageNames] | None = None,
    ) -> None:
        self._names = names or {}
        self._database = database
        self._backoff_s = tuple(backoff_s)
        self._public_url = public_url

    # From the history to deliveries

    def cursor(self) -> int:
        """The last transition that was processed; inside a transaction it is locked for others."""
        return lock_cursor(self._database)

    def move_cursor(self, seq: int) -> None:
        """All transitions up to this one have been processed."""
        self._database.run(
            "UPDATE followers SET seq = :seq WHERE name = :name", seq=seq, name=NOTIFIER
        )

    def transitions(self, *, after: int, limit: int = BATCH_MAX) -> list[Row]:
        """The next transitions as rows: most of them have no subscriber, and are not decoded."""
        return self._database.rows(
            f"SELECT {_CHANGE} FROM transitions WHERE seq > :after AND seq <= :until"
            " ORDER BY seq LIMIT :limit",
            after=after,
            until=log_end(self._database),
            limit=limit,
        )

    def fan_out(self, rows: Sequence[Row], webhooks: Sequence[Webhook], *, now: Micros) -> int:
        """Create the deliveries of these transitions; how many."""
        matches = list(_matches(rows, [each for each in webhooks if each.is_enabled]))
        if not matches:
            return 0
        # The reviews that transitions of these records opened, by record and version.
        record_ids = sorted({change.record_id for change, _ in matches})
        condition, params = self._database.among("record_id", record_ids)
        found = self._database.rows(
            f"SELECT record_id, version, payload FROM effects WHERE {condition} AND kind = 'ask'",
            **params,
        )
        reviews = {
            (str(record_id), int(version or 0)): _decode_fields(str(payload))
            for record_id, version, payload in found
        }
        counts = self._counts(
            {change.record_id for change, _ in matches if change.machine in self._names}
        )
        made = [
            self._delivery(
                self._with_names(_with_review(change, reviews), counts), webhook, now=now
            )
            for change, webhook in matches
        ]
        return sum(self._database.insert_new(DELIVERIES, [delivery_row(each) for each in made]))

    def _counts(self, record_ids: AbstractSet[str]) -> dict[str, list[tuple[int, str, int]]]:
        """What stages of these records counted, by record: (version, event, count), oldest first."""
        if not record_ids:
            return {}
        condition, params = self._database.among("record_id", sorted(record_ids))
        found: dict[str, list[tuple[int, str, int]]] = {}
        for record_id, version, trigger, metadata in self._database.rows(
            f"SELECT record_id, version, trigger, metadata FROM transitions WHERE {condition}"
            " ORDER BY record_id, version",
            **params,
        ):
            count = _decode_fields(str(metadata)).get("count")
            if isinstance(count, int):
                counted = (int(version or 0), str(trigger), count)
                found.setdefault(str(record_id), []).append(counted)
        return found

    def _with_names(
        self, change: StatusChange, counts: Mapping[str, list[tuple[int, str, int]]]
    ) -> StatusChange:
        """A change with its record under the names of its own path, if it has one."""
        names = self._names.get(change.machine)
        if names is None:
            return change
        own: Fields = {names.id_field: change.record_id, "status": change.target}
        for version, trigger, count in counts.get(change.record_id, ()):
            if version <= change.version and trigger in names.counts:
                own[names.counts[trigger]] = count
        return msgspec.structs.replace(change, own=own)

    def _delivery(self, change: StatusChange, webhook: Webhook, *, now: Micros) -> Delivery:
        body = message_body(change, content=webhook.content, public_url=self._public_url)
        return Delivery(
            webhook_id=webhook.id,
            message_id=change.message_id,
            type=change.type,
            record_id=change.record_id,
            version=change.version,
            body=body.decode(),
            trace=change.trace,
            created_at=now,
            due_at=max(now, webhook.rests_until),
        )

    # Attempts

    def next_at(self) -> Micros | None:
        """When the next attempt is due."""
        ((at,),) = self._database.rows(
            "SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL"
        )
        return None if at is None else int(at)

    def endpoints_due(self, now: Micros) -> set[str]:
        found = self._database.rows(
            "SELECT id FROM webhooks w WHERE EXISTS (SELECT 1 FROM deliveries d"
            " WHERE d.webhook_id = w.id AND d.due_at <= :now)",
            now=now,
        )
        return {str(each) for (each,) in found}

    def take(self, webhook: Webhook, *, now: Micros, until: Micros, limit: int) -> list[Delivery]:
        """Deliveries that are due, reserved for this process until then."""
        if limit <= 0:
            return []
        with self._database.transaction():
            found = self._database.rows(
                f"SELECT {_COLUMNS} FROM deliveries WHERE webhook_id = :id AND due_at <= :now"
                f" ORDER BY due_at LIMIT :limit{self._database.skip_locked}",
                id=webhook.id,
                now=now,
                limit=limit,
            )
            taken = [
                msgspec.structs.replace(
                    each, attempts=each.attempts + 1, tries=each.tries + 1, due_at=until
                )
                for each in map(delivery_of, found)
            ]
            self._write(taken, [each.attempts - 1 for each in taken])
            return taken

    def settle(self, attempts: Sequence[FinishedAttempt], *, now: Micros) -> list[DeliveryState]:
        """Store the results of these attempts; the state of each delivery afterwards."""
        outcomes = [self._outcome(each, now=now) for each in attempts]
        there = self._there(outcomes)
        # Not of one that was erased meanwhile: an answer may repeat the words that it was told.
        kept = [each for each in attempts if _name(each.delivery) in there]
        self._database.insert_new(ATTEMPTS, [attempt_row(each) for each in kept])
        self._write(outcomes, [each.attempts for each in outcomes])
        return [each.state for each in outcomes]

    def _there(self, deliveries: Sequence[Delivery]) -> set[tuple[str, str]]:
        """The names of those that there are still."""
        named: dict[str, list[str]] = {}
        for each in deliveries:
            named.setdefault(each.webhook_id, []).append(each.message_id)
        found: set[tuple[str, str]] = set()
        for webhook_id, message_ids in named.items():
            condition, params = self._database.among("message_id", message_ids)
            rows = self._database.rows(
                f"SELECT message_id FROM deliveries WHERE webhook_id = :webhook AND {condition}",
                webhook=webhook_id,
                **params,
            )
            found |= {(webhook_id, str(message_id)) for (message_id,) in rows}
        return found

    def _outcome(self, attempt: FinishedAttempt, *, now: Micros) -> Delivery:
        response = attempt.response
        is_final = response.is_success or response.is_gone
        due_at = None if is_final else self._retry_at(attempt.delivery, response, now=now)
        ended: DeliveryState = "delivered" if response.is_success else "dead"
        return msgspec.structs.replace(
            attempt.delivery,
            state=ended if due_at is None else "pending",
            due_at=due_at,
            ended_at=now if due_at is None else None,
            status=response.status,
            error=None if response.is_success else response.summary,
        )

    def _retry_at(
        self, delivery: Delivery, response: WebhookResponse, *, now: Micros
    ) -> Micros | None:
        if delivery.tries > len(self._backoff_s):
            return None
        # The jitter is derived from the delivery, not drawn: a repeated computation gives the same time.
        share = spread(f"{delivery.message_id} {delivery.webhook_id} {delivery.tries}")
        wait_s = self._backoff_s[delivery.tries - 1] * (1 + JITTER * share)
        return now + round(max(wait_s, response.retry_after_s or 0) * SECOND)

    def _write(self, deliveries: Sequence[Delivery], attempts: Sequence[int]) -> None:
        """Only where `attempts` is unchanged: otherwise another process has taken the delivery meanwhile."""
        rows: list[Row] = [
            (each.webhook_id, each.message_id, each.state, each.attempts, each.tries, each.due_at,
             each.ended_at, each.status, each.error)
            for each in deliveries
        ]  # fmt: skip
        if rows:
            self._database.update(OUTCOMES, rows, expected="attempts", column=list(attempts))

    def postpone(self, webhook_id: str, *, until: Micros) -> None:
        """Try nothing at an endpoint before then."""
        self._database.run(
            "UPDATE deliveries SET due_at = :until WHERE webhook_id = :id AND due_at < :until",
            id=webhook_id,
            until=until,
        )

    def mark_dead(self, webhook_id: str, reason: str, *, now: Micros) -> int:
        """End what is pending for an endpoint that receives nothing any more; it can be replayed."""
        return self._database.run(
            "UPDATE deliveries SET state = 'dead', due_at = NULL, ended_at = :now, error = :reason"
            " WHERE webhook_id = :id AND due_at IS NOT NULL",
            id=webhook_id,
            now=now,
            reason=reason,
        )

    # For people and programs

    def find(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: DeliveryState | None = None,
        after: tuple[Micros, str, str] | None = None,
        limit: int = 100,
    ) -> list[Delivery]:
        """Deliveries, newest first; `after` is the last one of the page before, as (created_at, message, webhook)."""
        conditions, params = _equal(webhook_id=webhook_id, record_id=record_id, state=state)
        if after is not None:
            params |= {"at": after[0], "message": after[1], "webhook": after[2]}
            conditions.append("(created_at, message_id, webhook_id) < (:at, :message, :webhook)")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM deliveries {where}"
            " ORDER BY created_at DESC, message_id DESC, webhook_id DESC LIMIT :limit",
            **params,
            limit=min(limit, PAGE_MAX),
        )
        return [delivery_of(row) for row in found]

    def get(self, webhook_id: str, message_id: str) -> Delivery:
        """One delivery; raises `UnknownName`."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM deliveries WHERE webhook_id = :webhook AND message_id = :message",
            webhook=webhook_id,
            message=message_id,
        )
        if not found:
            raise UnknownName("delivery", f"{message_id[:80]} to {webhook_id[:80]}")
        return delivery_of(found[0])

    def attempts(self, webhook_id: str, message_id: str) -> list[DeliveryAttempt]:
        """What was sent and answered, oldest first."""
        found = self._database.rows(
            f"SELECT {', '.join(ATTEMPT_COLUMNS)} FROM delivery_attempts"
            " WHERE webhook_id = :webhook AND message_id = :message ORDER BY attempt LIMIT :limit",
            webhook=webhook_id,
            message=message_id,
            limit=ATTEMPTS_SHOWN_MAX,
        )
        return [attempt_of(row) for row in found]

    def add(self, delivery: Delivery) -> None:
        """Add a delivery without a transition: a ping."""
        self._database.insert(DELIVERIES, [delivery_row(delivery)])

    def replay(
        self,
        *,
        now: Micros,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: DeliveryState | None = None,
        since: Micros | None = None,
    ) -> int:
        """Deliver again, under the same ids, with the present secrets; how many. At least one filter is required."""
        conditions, params = _equal(webhook_id=webhook_id, message_id=message_id, state=state)
        if since is not None:
            params["since"] = since
            conditions.append("created_at >= :since")
        if not conditions:
            raise InvalidRequest(
                "say what to replay (a webhook, a message, a state or a time), not everything"
            )
        chosen = (
            f"SELECT webhook_id, message_id FROM deliveries WHERE {' AND '.join(conditions)}"
            " AND due_at IS NULL AND webhook_id IN (SELECT id FROM webhooks WHERE is_enabled = :yes)"
            f" ORDER BY created_at LIMIT {REPLAY_MAX}"
        )
        with self._database.transaction():
            self.cursor()
            return self._database.run(
                "UPDATE deliveries SET state = 'pending', due_at = :now, tries = 0, ended_at = NULL"
                f" WHERE (webhook_id, message_id) IN ({chosen})",
                **params,
                now=now,
                yes=True,
            )

    def prune(self, *, before: Micros) -> int:
        """Delete deliveries that ended before then; how many."""
        old = (
            "SELECT webhook_id, message_id FROM deliveries WHERE ended_at < :before"
            " ORDER BY ended_at LIMIT :limit"
        )
        if not self._database.rows(old, before=before, limit=1):
            return 0
        with self._database.transaction():
            self.cursor()  # as an erasure begins, which deletes such rows in another order
            found = self._database.rows(old, before=before, limit=PRUNE_MAX)
            if found:
                by = ("webhook_id", "message_id")
                self._database.delete(ATTEMPTS, found, by=by)
                self._database.delete(DELIVERIES, found, by=by)
            return len(found)


def _name(delivery: Delivery) -> tuple[str, str]:
    return delivery.webhook_id, delivery.message_id


def change_of(row: Row) -> StatusChange:
    """A row of `Outbox.transitions`, decoded."""
    seq, record_id, version, machine, source, target, at, trigger, metadata = row
    return StatusChange(
        seq=int(seq or 0),
        record_id=str(record_id),
        version=int(version or 0),
        machine=str(machine),
        source=None if source is None else str(source),
        target=str(target),
        at=int(at or 0),
        trigger=str(trigger),
        metadata=_decode_fields(str(metadata)),
    )


def _equal(**wanted: str | None) -> tuple[list[str], dict[str, object]]:
    """Conditions and parameters for the columns that are asked for."""
    params: dict[str, object] = {name: each for name, each in wanted.items() if each is not None}
    conditions = [f"{name} = :{name}" for name in params]
    if wanted.get("state") == "dead":
        # Written out: the index of the dead serves a query that says so whatever its parameters are.
        conditions.append("state = 'dead'")
    return conditions, params


def _matches(
    rows: Sequence[Row], webhooks: Sequence[Webhook]
) -> Iterator[tuple[StatusChange, Webhook]]:
    subscribers: dict[tuple[str, str], list[Webhook]] = {}
    for row in rows:
        seq, machine, target = int(row[0] or 0), str(row[3]), str(row[5])
        if row[7] == RECORD_ERASED:  # it came into no status: that news was told before
            yield from _told_of(ERASED, change_of(row), webhooks)
            continue
        if (machine, target) not in subscribers:
            subscribers[machine, target] = [
                each for each in webhooks if is_subscribed(each.events, machine, target)
            ]
        receivers = [each for each in subscribers[machine, target] if each.since < seq]
        change = change_of(row) if receivers else None
        if change is not None:
            yield from ((change, each) for each in receivers)
        if _FLAGS_KEY in str(row[8]):
            yield from _flag_news(change or change_of(row), webhooks)


def _flag_news(
    change: StatusChange, webhooks: Sequence[Webhook]
) -> Iterator[tuple[StatusChange, Webhook]]:
    """The news that a stage flagged its result, beside that of the change of status."""
    if change.metadata.get(FLAGS):
        yield from _told_of(FLAGGED, change, webhooks)


def _told_of(
    topic: str, change: StatusChange, webhooks: Sequence[Webhook]
) -> Iterator[tuple[StatusChange, Webhook]]:
    news = msgspec.structs.replace(change, topic=topic)
    for each in webhooks:
        if each.since < change.seq and is_subscribed(each.events, change.machine, topic):
            yield news, each


def _with_review(change: StatusChange, reviews: dict[tuple[str, int], Fields]) -> StatusChange:
    review = reviews.get((change.record_id, change.version))
    if review is None:
        return change
    deadline = review.get("deadline")
    return msgspec.structs.replace(
        change,
        review=str(review.get("review")),
        deadline=deadline if isinstance(deadline, int) else None,
    )

"""What is to be delivered, to whom, when; what was; and what cannot be.

Deliveries are made from the committed log of transitions, by a cursor that moves in the same transaction: what was
committed is delivered at least once or stands on the list of the dead, and nothing is delivered that was not
committed. A delivery under way is taken by moving its next attempt past the longest time that one can take; if the
process dies meanwhile, it is simply tried again then. Nothing here talks to the network.
"""

from collections.abc import Iterator, Sequence

import msgspec

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import SECOND, Fields, Micros
from stateward.core.retry import spread
from stateward.notifications.deliveries import (
    ATTEMPTS,
    DELIVERIES,
    OUTCOMES,
    Attempt,
    Delivery,
    Sent,
    State,
    attempt_of,
    attempt_row,
    delivery_of,
    delivery_row,
)
from stateward.notifications.endpoints import Webhook
from stateward.notifications.messages import News, body_of, wanted_by
from stateward.notifications.sending import WebhookResponse
from stateward.storage.database import Database, Row

FOLLOWER = "notices"
BATCH_MAX = 1000
PAGE_MAX = 1000
REPLAY_MAX = 10_000
JITTER = 0.2  # of each wait, so that what failed together does not come back together

_COLUMNS = ", ".join(DELIVERIES.columns)
_NEWS = "seq, record_id, version, machine, source, target, at, trigger, metadata"

_decode_fields = msgspec.json.Decoder(Fields).decode


class Outbox:
    """Deliveries, their attempts and the cursor, in the database that also holds the transitions."""

    def __init__(
        self, database: Database, *, backoff_s: Sequence[float], public_url: str | None = None
    ) -> None:
        self._database = database
        self._backoff_s = tuple(backoff_s)
        self._public_url = public_url

    # From the log to deliveries

    def head(self) -> int:
        """How many transitions there are."""
        ((count,),) = self._database.rows("SELECT count FROM anchor WHERE one = 1")
        return int(count or 0)

    def place(self) -> int:
        """How far the log was followed; inside a unit nobody else follows it meanwhile."""
        ((seq,),) = self._database.rows(
            f"SELECT seq FROM followers WHERE name = :name{self._database.for_update}",
            name=FOLLOWER,
        )
        return int(seq or 0)

    def move_on(self, seq: int) -> None:
        """The log was followed up to here."""
        self._database.run(
            "UPDATE followers SET seq = :seq WHERE name = :name", seq=seq, name=FOLLOWER
        )

    def news(self, *, after: int, limit: int = BATCH_MAX) -> list[Row]:
        """What happened since, as rows: most of it concerns nobody, and is not looked at any closer."""
        return self._database.rows(
            f"SELECT {_NEWS} FROM transitions WHERE seq > :after ORDER BY seq LIMIT :limit",
            after=after,
            limit=limit,
        )

    def fan_out(self, rows: Sequence[Row], webhooks: Sequence[Webhook], *, now: Micros) -> int:
        """Make the deliveries that follow from these transitions; how many."""
        matched = list(_matched(rows, [each for each in webhooks if each.is_enabled]))
        if not matched:
            return 0
        asked = self._asked(sorted({news.record_id for news, _ in matched}))
        made = [
            self._delivery(_with_review(news, asked), webhook, now=now) for news, webhook in matched
        ]
        return sum(self._database.insert_new(DELIVERIES, [delivery_row(each) for each in made]))

    def _asked(self, record_ids: Sequence[str]) -> dict[tuple[str, int], Fields]:
        """The questions that went with these transitions."""
        condition, params = self._database.among("record_id", record_ids)
        found = self._database.rows(
            f"SELECT record_id, version, payload FROM effects WHERE {condition} AND kind = 'ask'",
            **params,
        )
        return {
            (str(record_id), int(version or 0)): _decode_fields(str(payload))
            for record_id, version, payload in found
        }

    def _delivery(self, news: News, webhook: Webhook, *, now: Micros) -> Delivery:
        body = body_of(news, content=webhook.content, public_url=self._public_url)
        return Delivery(
            webhook_id=webhook.id,
            message_id=news.message_id,
            type=news.type,
            record_id=news.record_id,
            version=news.version,
            body=body.decode(),
            trace=news.trace,
            created_at=now,
            state="pending",
            attempts=0,
            tries=0,
            due_at=max(now, webhook.rests_until),
            ended_at=None,
            status=None,
            error=None,
        )

    # Attempts

    def next_at(self) -> Micros | None:
        """When the next attempt is due."""
        ((at,),) = self._database.rows(
            "SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL"
        )
        return None if at is None else int(at)

    def waited_for(self, now: Micros) -> set[str]:
        """The endpoints that something is due for."""
        found = self._database.rows(
            "SELECT id FROM webhooks w WHERE EXISTS (SELECT 1 FROM deliveries d"
            " WHERE d.webhook_id = w.id AND d.due_at <= :now)",
            now=now,
        )
        return {str(each) for (each,) in found}

    def take(self, webhook: Webhook, *, now: Micros, until: Micros, limit: int) -> list[Delivery]:
        """Deliveries whose time has come, ours until then."""
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

    def settle(self, sent: Sequence[Sent], *, now: Micros) -> list[State]:
        """Write down what came of these attempts; for each, what the delivery is now."""
        outcomes = [self._outcome(each, now=now) for each in sent]
        self._database.insert_new(ATTEMPTS, [attempt_row(each) for each in sent])
        self._write(outcomes, [each.attempts for each in outcomes])
        return [each.state for each in outcomes]

    def _outcome(self, sent: Sent, *, now: Micros) -> Delivery:
        delivery, answer = sent.delivery, sent.answer
        error = None if answer.is_success else answer.summary
        if answer.is_success:
            state, due_at = "delivered", None
        else:
            due_at = None if answer.is_gone else self._again_at(delivery, answer, now=now)
            state = "dead" if due_at is None else "pending"
        return msgspec.structs.replace(
            delivery,
            state=state,
            due_at=due_at,
            ended_at=now if due_at is None else None,
            status=answer.status,
            error=error,
        )

    def _again_at(
        self, delivery: Delivery, answer: WebhookResponse, *, now: Micros
    ) -> Micros | None:
        if delivery.tries > len(self._backoff_s):
            return None
        wait_s = self._backoff_s[delivery.tries - 1]
        wait_s *= 1 + JITTER * spread(
            f"{delivery.message_id} {delivery.webhook_id} {delivery.tries}"
        )
        return now + round(max(wait_s, answer.retry_after_s or 0) * SECOND)

    def _write(self, deliveries: Sequence[Delivery], attempts: Sequence[int]) -> None:
        """Only where nobody else has tried it since."""
        rows: list[Row] = [
            (each.webhook_id, each.message_id, each.state, each.attempts, each.tries, each.due_at,
             each.ended_at, each.status, each.error)
            for each in deliveries
        ]  # fmt: skip
        if rows:
            self._database.update(OUTCOMES, rows, expected="attempts", column=list(attempts))

    def put_off(self, webhook_id: str, *, until: Micros) -> None:
        """Try nothing at an endpoint before then."""
        self._database.run(
            "UPDATE deliveries SET due_at = :until WHERE webhook_id = :id AND due_at < :until",
            id=webhook_id,
            until=until,
        )

    def bury_all(self, webhook_id: str, reason: str, *, now: Micros) -> int:
        """What still waited for an endpoint that hears nothing any more; it can be replayed."""
        return self._database.run(
            "UPDATE deliveries SET state = 'dead', due_at = NULL, ended_at = :now, error = :reason"
            " WHERE webhook_id = :id AND due_at IS NOT NULL",
            id=webhook_id,
            now=now,
            reason=reason,
        )

    # What people ask and do

    def listed(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: State | None = None,
        after: tuple[Micros, str, str] | None = None,
        limit: int = 100,
    ) -> list[Delivery]:
        """Deliveries, newest first; `after` is the last one seen, as (created_at, message, webhook)."""
        wanted: dict[str, object] = {
            "webhook_id": webhook_id,
            "record_id": record_id,
            "state": state,
        }
        params = {name: value for name, value in wanted.items() if value is not None}
        conditions = [f"{name} = :{name}" for name in params]
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

    def named(self, webhook_id: str, message_id: str) -> Delivery:
        """One delivery, or a clear refusal."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM deliveries WHERE webhook_id = :webhook AND message_id = :message",
            webhook=webhook_id,
            message=message_id,
        )
        if not found:
            raise UnknownName("delivery", f"{message_id[:80]} to {webhook_id[:80]}")
        return delivery_of(found[0])

    def attempts(self, webhook_id: str, message_id: str) -> list[Attempt]:
        """What was sent and answered, oldest first."""
        found = self._database.rows(
            f"SELECT {', '.join(list(ATTEMPTS.columns)[2:])} FROM delivery_attempts"
            " WHERE webhook_id = :webhook AND message_id = :message ORDER BY attempt LIMIT 1000",
            webhook=webhook_id,
            message=message_id,
        )
        return [attempt_of(row) for row in found]

    def add(self, delivery: Delivery) -> None:
        """A delivery that follows from no transition: a test."""
        self._database.insert(DELIVERIES, [delivery_row(delivery)])

    def replay(
        self,
        *,
        now: Micros,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: State | None = None,
        since: Micros | None = None,
    ) -> int:
        """Deliver again, under the same ids, with the secrets of now; how many. At least one thing must be named."""
        wanted = {"webhook_id": webhook_id, "message_id": message_id, "state": state}
        params: dict[str, object] = {
            key: value for key, value in wanted.items() if value is not None
        }
        conditions = [f"{name} = :{name}" for name in params]
        if since is not None:
            params["since"] = since
            conditions.append("created_at >= :since")
        if not conditions:
            raise InvalidRequest(
                "name a webhook, a message or the dead; replaying everything is never meant"
            )
        chosen = (
            f"SELECT webhook_id, message_id FROM deliveries WHERE {' AND '.join(conditions)}"
            " AND due_at IS NULL AND webhook_id IN (SELECT id FROM webhooks WHERE is_enabled = :yes)"
            f" ORDER BY created_at LIMIT {REPLAY_MAX}"
        )
        return self._database.run(
            "UPDATE deliveries SET state = 'pending', due_at = :now, tries = 0, ended_at = NULL"
            f" WHERE (webhook_id, message_id) IN ({chosen})",
            **params,
            now=now,
            yes=True,
        )

    def prune(self, *, before: Micros, limit: int = 1000) -> int:
        """Forget deliveries that ended long ago; how many."""
        with self._database.transaction():
            found = self._database.rows(
                "SELECT webhook_id, message_id FROM deliveries WHERE ended_at < :before"
                " ORDER BY ended_at LIMIT :limit",
                before=before,
                limit=limit,
            )
            if found:
                by = ("webhook_id", "message_id")
                self._database.delete(ATTEMPTS, found, by=by)
                self._database.delete(DELIVERIES, found, by=by)
            return len(found)


def _matched(rows: Sequence[Row], webhooks: Sequence[Webhook]) -> Iterator[tuple[News, Webhook]]:
    wants: dict[tuple[str, str], list[Webhook]] = {}
    for row in rows:
        seq, machine, target = int(row[0] or 0), str(row[3]), str(row[5])
        listening = wants.get((machine, target))
        if listening is None:
            listening = [each for each in webhooks if wanted_by(each.events, machine, target)]
            wants[machine, target] = listening
        hearing = [each for each in listening if each.since < seq]
        if hearing:
            news = news_of(row)
            yield from ((news, each) for each in hearing)


def news_of(row: Row) -> News:
    """A row of the log, read."""
    seq, record_id, version, machine, source, target, at, trigger, metadata = row
    return News(
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


def _with_review(news: News, asked: dict[tuple[str, int], Fields]) -> News:
    ask = asked.get((news.record_id, news.version))
    if ask is None:
        return news
    deadline = ask.get("deadline")
    return msgspec.structs.replace(
        news,
        review=str(ask.get("review")),
        deadline=deadline if isinstance(deadline, int) else None,
    )

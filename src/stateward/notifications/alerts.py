"""Alerts for the administrator: what is worth one, and the queue from which they are sent by email.

An alert is stored once per occurrence: a record that failed for good or is stuck, an open review, a webhook that cannot
be delivered, a source whose records fail together. Its id says what it is about, so that writing it again changes
nothing. It is stored in the transaction that settles the effect it follows from, and sent until the mail server accepts
it or a day of attempts is over: at least once, and a repeated email has the same Message-ID.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from stateward.core.model import PRIORITY_REASON, SECOND, Fields, Micros
from stateward.http_addresses import parse_url
from stateward.notifications.endpoints import Webhook
from stateward.notifications.outbox import change_of
from stateward.storage.database import Database, Row, Table
from stateward.storage.erasure import NOTIFIER, lock_follower
from stateward.storage.failing_sources import failing_sources

Topic: TypeAlias = Literal["exhausted", "failed", "stuck", "review", "webhook", "source"]

EFFECTS_MAX = 500
OVERDUE_MAX = 200
ALERTS_MAX = 200  # in one email
SENT_MAX = 1000
# Some 22 hours in total: a mail server may be down for a night.
BACKOFF_S = (60.0, 300.0, 900.0, 3600.0, 10_800.0, 21_600.0, 43_200.0)
TIMEOUT = "TIMEOUT"
PRIORITY_HIGH = 7  # regulatory_filing and above
SEVERITY_HIGH = "P2"
DAY: Micros = 86_400 * SECOND
NOT_MOVED = "it is overdue and no coordinator has handled it; check that one is running"

ALERTS = Table(
    "alerts",
    {
        "id": "text",
        "topic": "text",
        "record_id": "text",
        "machine": "text",
        "facts": "json",
        "created_at": "bigint",
        "attempts": "bigint",
        "due_at": "bigint",
        "sent_at": "bigint",
        "error": "text",
    },
    key=("id",),
)
# The key, and what an attempt changes.
OUTCOMES = Table(
    "alerts",
    {name: ALERTS.columns[name] for name in ("id", "attempts", "due_at", "sent_at", "error")},
    key=("id",),
)
_COLUMNS = ", ".join(ALERTS.columns)
_TOPICS: dict[str, Topic] = {"exhausted": "exhausted", "failed": "failed"}
_decode_fields = msgspec.json.Decoder(Fields).decode


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence that a person should know of. `due_at` is the next attempt; None once it is sent or given up."""

    id: str
    topic: Topic
    record_id: str
    machine: str
    facts: Fields
    created_at: Micros
    attempts: int = 0
    due_at: Micros | None = None
    sent_at: Micros | None = None
    error: str | None = None

    @classmethod
    def about(
        cls, record_id: str, version: int, topic: Topic, *, machine: str, facts: Fields, at: Micros
    ) -> "Alert":
        """An alert with the id of its occurrence."""
        return cls(
            id=f"{record_id}:{version}:{topic}",
            topic=topic,
            record_id=record_id,
            machine=machine,
            facts=facts,
            created_at=at,
        )


class AlertWriter:
    """Stores alerts about `topics`; effects about anything else are settled without one."""

    def __init__(
        self, database: Database, queue: "AlertQueue", *, topics: AbstractSet[str]
    ) -> None:
        self._database = database
        self._queue = queue
        self._topics = topics

    def settle_effects(self, *, now: Micros) -> None:
        """Turn the effects of transitions into alerts and mark them as settled."""
        with self._database.transaction():
            if not self._open_effects(limit=1):
                return
            # As an erasure begins to delete them: what was read before it would come back as an alert.
            lock_follower(self._database, NOTIFIER)
            found = self._open_effects(limit=EFFECTS_MAX)
            alerts = [alert for row in found if (alert := self._of_effect(row)) is not None]
            self._queue.add(alerts, now=now)
            for record_id, version, kind, *_ in found:
                self._database.run(
                    "UPDATE effects SET settled_at = :now"
                    " WHERE record_id = :id AND version = :version AND kind = :kind",
                    now=now,
                    id=record_id,
                    version=version,
                    kind=kind,
                )

    def _open_effects(self, *, limit: int) -> list[Row]:
        return self._database.rows(
            "SELECT e.record_id, e.version, e.kind, e.payload, r.machine, e.created_at, r.priority, r.labels"
            " FROM effects e"
            " LEFT JOIN records r ON r.id = e.record_id"
            " WHERE e.settled_at IS NULL ORDER BY e.created_at LIMIT :limit",
            limit=limit,
        )

    def _of_effect(self, row: Row) -> Alert | None:
        record_id, version, kind, text, machine, created_at, priority, labels = row
        payload = _decode_fields(str(text))
        topic: Topic | None = "review" if kind == "ask" else _TOPICS.get(str(payload.get("topic")))
        if topic is None or topic not in self._topics:
            return None
        given = payload.get("facts")
        facts: Fields = given if isinstance(given, dict) else {"review": payload.get("review")}
        if labels is not None:
            facts = facts | _document(topic, int(priority or 0), _decode_fields(str(labels)))
        return Alert.about(
            str(record_id),
            int(version or 0),
            topic,
            machine=str(machine),
            facts=facts,
            at=int(created_at or 0),
        )

    def about_timeouts(self, rows: Sequence[Row], *, now: Micros) -> None:
        """Alerts about attempts that timed out, from rows of `Outbox.transitions`.

        Not if the transition has an alert of its own, because the timeout used up the last retry.
        """
        if "stuck" not in self._topics:
            return
        # Most transitions are no timeouts: looking for the word is quicker than decoding the metadata.
        found = [change_of(row) for row in rows if TIMEOUT in str(row[8])]
        late = [each for each in found if each.metadata.get("error_code") == TIMEOUT]
        if not late:
            return
        condition, params = self._database.among(
            "record_id", sorted({each.record_id for each in late})
        )
        notified = {
            (str(record_id), int(version or 0))
            for record_id, version in self._database.rows(
                f"SELECT record_id, version FROM effects WHERE {condition} AND kind = 'notify'",
                **params,
            )
        }
        self._queue.add(
            [
                # The version of the attempt, not of its end: if the record was reported as overdue before the
                # scheduler ended the attempt, that was the same occurrence.
                Alert.about(
                    each.record_id,
                    each.version - 1,
                    "stuck",
                    machine=each.machine,
                    facts={**each.metadata, "status": each.target},
                    at=each.at,
                )
                for each in late
                if (each.record_id, each.version) not in notified
            ],
            now=now,
        )

    def about_overdue(self, *, now: Micros, overdue_us: Micros) -> None:
        """Alerts about records that are overdue by that much, and that no coordinator has moved."""
        if "stuck" not in self._topics:
            return
        found = self._database.rows(
            "SELECT id, version, machine, status, due_at FROM records WHERE due_at < :before"
            f" ORDER BY due_at LIMIT {OVERDUE_MAX}",
            before=now - overdue_us,
        )
        self._queue.add(
            [
                Alert.about(
                    str(record_id),
                    int(version or 0),
                    "stuck",
                    machine=str(machine),
                    facts={"status": str(status), "error_message": NOT_MOVED},
                    at=int(due_at or 0),
                )
                for record_id, version, machine, status, due_at in found
            ],
            now=now,
        )

    def about_sources(self, *, now: Micros) -> None:
        """One alert a day and source of which many records failed within an hour."""
        if "source" not in self._topics:
            return
        found = failing_sources(
            self._database, now=now, overdue_us=now
        )  # stuck ones have their own
        self._queue.add(
            [
                Alert.about(
                    each.name,
                    now // DAY,
                    "source",
                    machine=each.machine,
                    facts={
                        "error_code": each.error_code,
                        "error_message": each.sentence,
                        "source_type": each.source_type,
                    },
                    at=now,
                )
                for each in found
                if each.failed
            ],
            now=now,
        )

    def about_webhook(self, webhook: Webhook, reason: str, *, now: Micros) -> None:
        """One alert a day and endpoint, hence the day as version: who looks sees everything that failed."""
        if "webhook" not in self._topics:
            return
        host = parse_url(webhook.url).host  # not the whole URL: some carry a secret in their path
        facts: Fields = {"url": host, "error_message": reason, "error_code": "WEBHOOK"}
        day = now // DAY
        alert = Alert.about(webhook.id, day, "webhook", machine="webhook", facts=facts, at=now)
        self._queue.add([alert], now=now)


class UnsentEmails(NamedTuple):
    """How many alerts wait for another attempt at their email, how many for none, and what one of them failed with."""

    waiting: int
    given_up: int
    error: str


class AlertQueue:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, alerts: Iterable[Alert], *, now: Micros) -> int:
        """Store alerts until they are sent; how many are new."""
        rows = [_row(msgspec.structs.replace(each, due_at=now)) for each in alerts]
        return sum(self._database.insert_new(ALERTS, rows)) if rows else 0

    def next_at(self) -> Micros | None:
        """When the next attempt is due."""
        ((at,),) = self._database.rows("SELECT min(due_at) FROM alerts WHERE due_at IS NOT NULL")
        return None if at is None else int(at)

    def take(self, *, now: Micros, until: Micros, limit: int = ALERTS_MAX) -> list[Alert]:
        """Alerts that are due, oldest first, reserved for this process until then."""
        with self._database.transaction():
            found = self._database.rows(
                f"SELECT {_COLUMNS} FROM alerts WHERE due_at <= :now ORDER BY due_at"
                f" LIMIT :limit{self._database.skip_locked}",
                now=now,
                limit=limit,
            )
            taken = [
                msgspec.structs.replace(each, attempts=each.attempts + 1, due_at=until)
                for each in map(_alert, found)
            ]
            self._write(taken, [each.attempts - 1 for each in taken])
            return sorted(taken, key=lambda each: (each.created_at, each.id))

    def postpone(self, alerts: Sequence[Alert], *, until: Micros) -> None:
        """Send these later, together with what is added meanwhile; that is no failed attempt."""
        later = [
            msgspec.structs.replace(each, attempts=each.attempts - 1, due_at=until)
            for each in alerts
        ]
        self._write(later, [each.attempts for each in alerts])

    def settle(self, alerts: Sequence[Alert], *, error: str | None, now: Micros) -> bool:
        """Store the result of an email with these alerts; whether they will not be tried again."""
        if error is None:
            settled = [
                msgspec.structs.replace(each, due_at=None, sent_at=now, error=None)
                for each in alerts
            ]
        else:
            settled = [
                msgspec.structs.replace(each, due_at=_retry_at(each, now), error=error)
                for each in alerts
            ]
        self._write(settled, [each.attempts for each in alerts])
        return all(each.due_at is None for each in settled)

    def unsent(self, *, since: Micros) -> UnsentEmails:
        """The alerts whose emails failed: those that are tried again, and since then those that are not."""
        ((waiting, given_up, error),) = self._database.rows(
            "SELECT count(due_at), count(*) - count(due_at), max(error) FROM alerts"
            " WHERE error IS NOT NULL AND sent_at IS NULL AND (due_at IS NOT NULL OR created_at >= :since)",
            since=since,
        )
        return UnsentEmails(int(waiting or 0), int(given_up or 0), str(error or ""))

    def sent_since(self, since: Micros) -> list[Micros]:
        """When emails were sent: the alerts of one have the same time."""
        found = self._database.rows(
            "SELECT DISTINCT sent_at FROM alerts WHERE sent_at >= :since ORDER BY sent_at"
            f" LIMIT {SENT_MAX}",
            since=since,
        )
        return [int(at or 0) for (at,) in found]

    def prune(self, *, before: Micros) -> int:
        """Delete alerts that were sent before then."""
        with self._database.transaction():
            lock_follower(self._database, NOTIFIER)  # as an erasure, which deletes alerts too
            return self._database.run("DELETE FROM alerts WHERE sent_at < :before", before=before)

    def _write(self, alerts: Sequence[Alert], attempts: Sequence[int]) -> None:
        """Only where `attempts` is unchanged: otherwise another process has taken the alert meanwhile."""
        rows: list[Row] = [
            (each.id, each.attempts, each.due_at, each.sent_at, each.error) for each in alerts
        ]
        if rows:
            self._database.update(OUTCOMES, rows, expected="attempts", column=list(attempts))


def plan_emails(
    alerts: Sequence[Alert], *, sent: Sequence[Micros], over: int, window_s: float, now: Micros
) -> tuple[list[Sequence[Alert]], Micros | None]:
    """Which alerts go into which email now, or when to look again.

    Up to `over` emails within the window, each alert has its own. Beyond that they are collected: one digest with all
    of them, and the next one a window later.
    """
    if not alerts:
        return [], None
    if len(sent) + len(alerts) <= over:
        return [[each] for each in alerts], None
    if len(sent) < over or now >= sent[-1] + round(window_s * SECOND):
        return [alerts], None
    return [], sent[-1] + round(window_s * SECOND)


def _document(topic: Topic, priority: int, labels: Fields) -> Fields:
    """Which document it is; how urgent, where it is one of high priority that was given up."""
    facts: Fields = {"priority": priority}
    facts |= {key: labels[key] for key in ("filename", PRIORITY_REASON) if labels.get(key)}
    # Given up is given up: the last retry may say that no other one would help.
    if topic in ("exhausted", "failed") and priority >= PRIORITY_HIGH:
        facts["severity"] = SEVERITY_HIGH
    return facts


def _retry_at(alert: Alert, now: Micros) -> Micros | None:
    if alert.attempts > len(BACKOFF_S):
        return None
    return now + round(BACKOFF_S[alert.attempts - 1] * SECOND)


def _row(alert: Alert) -> Row:
    values = msgspec.structs.asdict(alert)
    values["facts"] = msgspec.json.encode(alert.facts).decode()
    return tuple(values[name] for name in ALERTS.columns)


def _alert(row: Row) -> Alert:
    values = ALERTS.named(row)
    values["facts"] = _decode_fields(str(values["facts"]))
    return Alert(**values)

"""What the admin must hear of: records that are given up or stuck, questions to people, webhooks in trouble.

Each is a letter, written once an occurrence: the effects that transitions asked for, timeouts found in the log, records
that nobody moves on, and addresses that take no messages. What nobody wants mailed is settled all the same.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from stateward.core.model import SECOND, Fields, Micros
from stateward.notifications.addresses import parse_url
from stateward.notifications.email import (
    Email,
    EmailQueue,
    Topic,
    letter_id,
)
from stateward.notifications.endpoints import Webhook
from stateward.notifications.outbox import news_of
from stateward.storage.database import Database, Row

EFFECTS_MAX = 500
OVERDUE_MAX = 200
TIMEOUT = "TIMEOUT"
DAY: Micros = 86_400 * SECOND
NOT_MOVED_ON = "nobody has moved it on although its time came; see that a coordinator runs"

_TOPICS: dict[str, Topic] = {"exhausted": "exhausted", "failed": "failed"}
_decode_fields = msgspec.json.Decoder(Fields).decode


class Alerts:
    """Writes letters; `topics` are those that somebody wants mailed."""

    def __init__(
        self, database: Database, letters: EmailQueue, *, topics: AbstractSet[str]
    ) -> None:
        self._database = database
        self._letters = letters
        self._topics = topics

    def settle_effects(self, *, now: Micros) -> None:
        """Turn effects into letters where mail is wanted, and settle them: somebody has taken them on."""
        with self._database.transaction():
            found = self._database.rows(
                "SELECT e.record_id, e.version, e.kind, e.payload, r.machine, e.created_at FROM effects e"
                " LEFT JOIN records r ON r.id = e.record_id"
                f" WHERE e.settled_at IS NULL ORDER BY e.created_at LIMIT {EFFECTS_MAX}"
            )
            if not found:
                return
            self._letters.add([each for row in found for each in self._letters_of(row)], now=now)
            for record_id, version, kind, *_ in found:
                self._database.run(
                    "UPDATE effects SET settled_at = :now"
                    " WHERE record_id = :id AND version = :version AND kind = :kind",
                    now=now,
                    id=record_id,
                    version=version,
                    kind=kind,
                )

    def _letters_of(self, row: Row) -> list[Email]:
        record_id, version, kind, payload, machine, created_at = row
        said = _decode_fields(str(payload))
        topic: Topic | None = "review" if kind == "ask" else _TOPICS.get(str(said.get("topic")))
        if topic is None or topic not in self._topics:
            return []
        facts = said.get("facts")
        known: Fields = facts if isinstance(facts, dict) else {"review": said.get("review")}
        return [
            _letter(
                str(record_id), int(version or 0), topic, str(machine), known, int(created_at or 0)
            )
        ]

    def about_timeouts(self, rows: Sequence[Row], *, now: Micros) -> None:
        """A timeout is an occurrence of its own, unless it was the last straw: then that is told."""
        if "stuck" not in self._topics:
            return
        found = [news_of(row) for row in rows if TIMEOUT in str(row[8])]
        late = [each for each in found if each.metadata.get("error_code") == TIMEOUT]
        told = self._told({each.record_id for each in late}) if late else set()
        letters = [
            # Named after the attempt: if it was overdue before the clock rang, that was the same occurrence.
            _letter(each.record_id, each.version - 1, "stuck", each.machine,
                    {**each.metadata, "status": each.target}, each.at)
            for each in late
            if (each.record_id, each.version) not in told
        ]  # fmt: skip
        self._letters.add(letters, now=now)

    def _told(self, record_ids: AbstractSet[str]) -> set[tuple[str, int]]:
        """The transitions of these records that somebody is told of anyway."""
        condition, params = self._database.among("record_id", sorted(record_ids))
        found = self._database.rows(
            f"SELECT record_id, version FROM effects WHERE {condition} AND kind = 'notify'",
            **params,
        )
        return {(str(record_id), int(version or 0)) for record_id, version in found}

    def about_overdue(self, *, now: Micros, overdue_us: Micros) -> None:
        """Records whose time came a while ago, and whom no coordinator has moved on."""
        if "stuck" not in self._topics:
            return
        found = self._database.rows(
            "SELECT id, version, machine, status, due_at FROM records WHERE due_at < :before"
            f" ORDER BY due_at LIMIT {OVERDUE_MAX}",
            before=now - overdue_us,
        )
        letters = [
            _letter(str(record_id), int(version or 0), "stuck", str(machine),
                    {"status": str(status), "error_message": NOT_MOVED_ON}, int(due_at or 0))
            for record_id, version, machine, status, due_at in found
        ]  # fmt: skip
        self._letters.add(letters, now=now)

    def about_webhook(self, webhook: Webhook, reason: str, *, now: Micros) -> None:
        """One letter a day and address: whoever looks sees all that it did not get."""
        if "webhook" in self._topics:
            host = parse_url(webhook.url).host  # not all of it: some carry a secret in their path
            facts: Fields = {"url": host, "error_message": reason, "error_code": "WEBHOOK"}
            letter = _letter(webhook.id, now // DAY, "webhook", "webhook", facts, now)
            self._letters.add([letter], now=now)


def _letter(
    record_id: str, version: int, topic: Topic, machine: str, facts: Fields, at: Micros
) -> Email:
    return Email(
        id=letter_id(record_id, version, topic),
        topic=topic,
        record_id=record_id,
        machine=machine,
        facts=facts,
        created_at=at,
    )

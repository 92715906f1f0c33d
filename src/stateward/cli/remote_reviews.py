"""The reviews of a Stateward elsewhere, for commands that think they are here: what they ask goes over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from typing import NoReturn

from msgspec.structs import replace

from stateward import schemas
from stateward.client import Client
from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Record, from_iso
from stateward.engine.claims import Claim
from stateward.engine.gold import RecordedDecision
from stateward.engine.reviews import DecisionRequest, Task

Translated = Callable[..., AbstractContextManager[None]]


class RemoteReviews:
    """The part of `Reviews` that commands use. Who decides, the key says."""

    def __init__(
        self,
        client: Client,
        *,
        record: Callable[[str], Record],
        kept: Callable[[schemas.Record], Record],
        translated: Translated,
    ) -> None:
        self._client = client
        self._record = record
        self._kept = kept
        self._translated = translated
        self._details: dict[str, schemas.ReviewDetail] = {}

    def __getattr__(self, name: str) -> NoReturn:
        """What needs the database itself cannot be done from afar."""
        raise InvalidRequest(
            "this command works on the database itself; run it there, without --server"
        )

    def pending(self, *, limit: int) -> list[Task]:
        """What waits for an answer, the nearest deadline first."""
        with self._translated():
            found = list(islice(self._client.pending_reviews(limit=limit), limit))
        return [self._task(each) for each in found]

    def task(self, record_id: str) -> Task:
        """The review of a record: open, or how it was decided."""
        with self._translated(record_id):
            detail = self._details[record_id] = self._client.get_review(record_id)
        return self._task(detail)

    def items(self, record: Record) -> list[Fields]:
        """The values that were found."""
        return self._details[record.id].fields

    def problems(self, record: Record) -> list[Fields]:
        """What the checks say of them."""
        return self._details[record.id].problems

    def claim(self, record_id: str, *, actor: str) -> Task:
        """Take a review up."""
        with self._translated(record_id, verb="claim"):
            return self._task(self._client.claim_review(record_id))

    def release(self, record_id: str, *, actor: str) -> Task:
        """Leave a review to others."""
        with self._translated(record_id, verb="release"):
            return self._task(self._client.release_review(record_id))

    def decide(self, deciding: DecisionRequest) -> Record:
        """Answer a review; the record as it then is."""
        with self._translated(deciding.record_id, verb=deciding.action):
            return self._kept(
                self._client.review(
                    deciding.record_id,
                    deciding.action,
                    corrected=deciding.corrected,
                    notes=deciding.notes,
                    version=deciding.version,
                )
            )

    def _task(self, found: schemas.ReviewTask) -> Task:
        record = self._record(found.workflow_id)
        due_at = None if found.deadline is None else from_iso(found.deadline)
        return Task(
            record=replace(record, due_at=due_at),
            facts=found.facts,
            confidence=found.confidence,
            review=found.review,
            actions=tuple(found.actions),
            claim=None if found.claim is None else _claim(found, found.claim),
            decided=None if found.decision is None else _decided(found, found.decision),
        )


def _claim(found: schemas.ReviewTask, claim: schemas.ReviewClaim) -> Claim:
    return Claim(
        record_id=found.workflow_id,
        version=found.version,
        actor=claim.by,
        at=from_iso(claim.at),
        until=from_iso(claim.until),
    )


def _decided(found: schemas.ReviewTask, decision: schemas.ReviewDecision) -> RecordedDecision:
    return RecordedDecision(
        action=decision.action,
        by=decision.by,
        at=from_iso(decision.at),
        notes=decision.notes,
        reviewer=decision.reviewer,
        version=found.version,
    )

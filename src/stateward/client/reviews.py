"""Reviews: what waits for a decision, the decision, approver links, statistics, gold data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from stateward import schemas
from stateward.client.requests import Requests
from stateward.client.steps import given_parameters, part


class ReviewOperations(Requests):
    """Operations on reviews."""

    def pending_reviews(self, *, limit: int = 200) -> Iterator[schemas.ReviewTask]:
        """What waits for a decision, the nearest deadline first."""
        return self._pages("/reviews/pending", given_parameters(limit=limit), schemas.ReviewPage)

    def get_review(self, record_id: str) -> schemas.ReviewDetail:
        """A review with the values that were found, or how it was decided."""
        return self._get(f"/reviews/{part(record_id)}", schemas.ReviewDetail)

    def review_statistics(self, *, days: int = 30) -> schemas.ReviewStatistics:
        """What people decided in reviews, and which fields they correct most."""
        return self._get("/reviews/statistics", schemas.ReviewStatistics, params={"days": days})

    def claim_review(self, record_id: str) -> schemas.ReviewTask:
        """Claim a review: for a while no other person may decide it."""
        return self._post(f"/reviews/{part(record_id)}/claim", None, schemas.ReviewTask)

    def unclaim_review(self, record_id: str) -> schemas.ReviewTask:
        """Leave a review to others."""
        return self._post(f"/reviews/{part(record_id)}/release", None, schemas.ReviewTask)

    def create_review_link(
        self,
        record_id: str,
        person: str,
        *,
        hours: float | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewLink:
        """Make a link that lets a named person decide a review; its `url` is in this answer, and in no other."""
        request = schemas.ReviewLinkRequest(person=person, hours=hours)
        path = f"/reviews/{part(record_id)}/links"
        return self._post(path, request, schemas.ReviewLink, key=idempotency_key)

    def review_links(self, record_id: str) -> list[schemas.ReviewLink]:
        """The links to a review, and what became of each."""
        return self._list(f"/reviews/{part(record_id)}/links", schemas.ReviewLinkList)

    def revoke_review_link(self, record_id: str, link_id: str) -> schemas.ReviewLinkRevoked:
        """Close a link to a review, from the next request on."""
        path = f"/reviews/{part(record_id)}/links/{part(link_id)}"
        return self._delete(path, schemas.ReviewLinkRevoked)

    def review(
        self,
        record_id: str,
        action: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        moved: Mapping[str, str] | None = None,
        notes: str | None = None,
        reason_code: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Decide a review: `approve`, `correct` or `reject`. The first decision counts."""
        body = _answer(action, corrected, moved, notes, reason_code)
        path = f"/records/{part(record_id)}/review"
        return self._post(path, body, schemas.Record, version=version, key=idempotency_key)

    def hold_decision(
        self,
        record_id: str,
        action: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        moved: Mapping[str, str] | None = None,
        notes: str | None = None,
        reason_code: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewTask:
        """Decide a review with time to undo it: it is stored at once and takes effect later."""
        body = _answer(action, corrected, moved, notes, reason_code)
        path = f"/reviews/{part(record_id)}/decision"
        return self._post(
            path, body, schemas.ReviewTask, version=version, key=idempotency_key, method="PUT"
        )

    def undo_decision(self, record_id: str) -> schemas.ReviewPending:
        """Undo a decision that is not in effect yet; the answer has what was decided."""
        return self._delete(f"/reviews/{part(record_id)}/decision", schemas.ReviewPending)

    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        is_blind: bool = False,
        notes: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewTask:
        """Ask another person, or a group as `group:NAME`, who then decides; your values are shown or hidden."""
        body = {
            "to": to,
            "corrected": dict(corrected or {}),
            "is_blind": is_blind,
            "notes": notes,
        }
        path = f"/reviews/{part(record_id)}/opinion"
        return self._post(path, body, schemas.ReviewTask, version=version, key=idempotency_key)

    def decide_reviews(
        self,
        versions: Mapping[str, int],
        action: Literal["approve", "reject"],
        *,
        notes: str | None = None,
        reason_code: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewBatch:
        """Decide many reviews as one, by id and the version that was looked at; for a while it can be undone."""
        request = schemas.ReviewBatchRequest(
            action=action,
            reviews=tuple(
                schemas.ReviewChoice(record_id=each, version=version)
                for each, version in versions.items()
            ),
            notes=notes,
            reason_code=reason_code,
            dry_run=dry_run,
        )
        return self._post("/reviews/batches", request, schemas.ReviewBatch, key=idempotency_key)

    def undo_reviews(self, batch_id: str) -> schemas.ReviewBatchUndone:
        """Undo what is not in effect yet of a bulk decision."""
        return self._delete(f"/reviews/batches/{part(batch_id)}", schemas.ReviewBatchUndone)

    def gold_lines(self) -> Iterator[bytes]:
        """Every decision of a person as a line of gold data."""
        return self._lines("/reviews/gold")


def _answer(
    action: str,
    corrected: Mapping[str, str | Sequence[str] | None] | None,
    moved: Mapping[str, str] | None,
    notes: str | None,
    reason_code: str | None,
) -> dict[str, Any]:
    return {
        "action": action,
        "corrected": dict(corrected or {}),
        "moved": dict(moved or {}),
        "notes": notes,
        "reason_code": reason_code,
    }

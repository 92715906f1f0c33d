"""Approver links: a person without a key decides one review, for some hours.

Who may review makes a link for a named person. Opened in a browser, it becomes a console session that sees this one
review and can answer it, with the checks that hold for everyone; a second browser is refused. A link is over when it
has expired or was revoked, when the key that it was made with is no longer valid, and when its person has answered or
the review was decided otherwise: a later review of the same record needs another link. Everything is in the audit log.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from stateward import schemas
from stateward.app.identity import new_key_id, new_token
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.machine import is_stay
from stateward.core.model import (
    SECOND,
    Fields,
    Micros,
    Transition,
    clean_text,
    plain_actor,
    to_iso,
    to_iso_or_none,
)
from stateward.engine.reviews import Reviews
from stateward.schemas.reviews import LINK_HOURS_MAX, LINK_PERSON_CHARS_MAX
from stateward.settings import Settings
from stateward.storage.audit import (
    LINK_CREATED,
    LINK_OPENED,
    LINK_REFUSED,
    LINK_REVOKED,
    AuditEntry,
    AuditLog,
)
from stateward.storage.keys import Keys
from stateward.storage.review_links import (
    LINK_PREFIX,
    ReviewLink,
    ReviewLinks,
    link_text,
)
from stateward.storage.store import Store

LINKS_MAX = 50  # of one record that can be used at the same time
PATH = "/console/approve/"
ANONYMOUS = "anonymous"  # who opened what is no link

State: TypeAlias = Literal["unopened", "opened", "used", "decided", "expired", "revoked"]
LIVE: tuple[State, ...] = ("unopened", "opened")
SAID: dict[State, str] = {
    "opened": "this link was opened in another browser already; ask for a new one",
    "used": "you have answered this review by this link; there is nothing left to do",
    "decided": "this review is over",
    "expired": "the time of this link is over; ask for a new one",
    "revoked": "this link was revoked; ask for a new one",
}


class ApproverLinks:
    def __init__(
        self,
        *,
        links: ReviewLinks,
        reviews: Reviews,
        store: Store,
        keys: Keys,
        audit: AuditLog,
        clock: Callable[[], Micros],
        hours: float,
    ) -> None:
        self._links = links
        self._reviews = reviews
        self._store = store
        self._keys = keys
        self._audit = audit
        self._clock = clock
        self._hours = hours

    def create(
        self,
        record_id: str,
        person: str,
        *,
        actor: str,
        hours: float | None = None,
        key_id: str = "",
        machines: Sequence[str] = (),
        is_administrator: bool = False,
    ) -> tuple[ReviewLink, str]:
        """A new link and its text. Only a hash of the text is stored: show it now or never."""
        named, lasts_h = _check_person(person), self._hours if hours is None else hours
        if not 0 < lasts_h <= LINK_HOURS_MAX:
            raise InvalidRequest(f"a link can be used for at most {LINK_HOURS_MAX} hours")
        with self._store.transaction():
            record = self._reviews.invite(
                record_id,
                named,
                actor=actor,
                machines=machines,
                is_administrator=is_administrator,
            )
            live = [each for each in self._links.of_record(record.id) if self.state(each) in LIVE]
            if len(live) >= LINKS_MAX:
                raise InvalidRequest(f"{record.id} has {len(live)} links already; revoke some")
            now, secret = self._clock(), new_token()
            link = ReviewLink(
                id=f"{LINK_PREFIX}{new_key_id()}",
                record_id=record.id,
                machine=record.machine,
                version=record.version,
                person=named,
                created_at=now,
                created_by=actor,
                key_id=key_id,
                expires_at=now + round(lasts_h * 3600 * SECOND),
            )
            self._links.add(link, secret=secret, now=now)
            until: Fields = {"expires_at": to_iso(link.expires_at)}
            self._note(LINK_CREATED, link, actor, until)
        return link, link_text(link.id, secret)

    def of(self, record_id: str, *, machines: Sequence[str] = ()) -> list[ReviewLink]:
        """The links to the reviews of a record, oldest first, also those that are over."""
        return self._links.of_record(self._reviews.task(record_id, machines=machines).record.id)

    def revoke(
        self, record_id: str, link_id: str, *, actor: str, machines: Sequence[str] = ()
    ) -> bool:
        """Close a link, and the session that it became, from the next request on; whether it was not before."""
        found = [each for each in self.of(record_id, machines=machines) if each.id == link_id]
        if not found:
            raise UnknownName("approver link", clean_text(link_id, chars_max=80))
        with self._store.transaction():
            was_open = self._links.revoke(link_id, now=self._clock())
            if was_open:
                self._note(LINK_REVOKED, found[0], actor, {})
        return was_open

    def authenticate(self, text: str) -> ReviewLink | None:
        """The link that this text is, whatever became of it; None if it is none."""
        return self._links.authenticate(text)

    def get(self, link_id: str) -> ReviewLink | None:
        """The link of this id, whatever became of it."""
        return self._links.get(link_id)

    def open(self, link: ReviewLink, *, address: str) -> bool:
        """Note that it was opened; False if it was before."""
        with self._store.transaction():
            is_first = self._links.open(link.id, now=self._clock())
            if is_first:
                self._note(LINK_OPENED, link, link.actor, {"address": address})
        return is_first

    def note_refusal(self, link: ReviewLink | None, *, reason: str, address: str) -> None:
        """Note that an opening was refused; without a link, the text was that of none, and is not stored."""
        detail: Fields = {"why": reason, "address": address}
        with self._store.transaction():
            if link is not None:
                self._note(LINK_REFUSED, link, link.actor, detail)
                return
            entry = AuditEntry(at=self._clock(), actor=ANONYMOUS, verb=LINK_REFUSED, detail=detail)
            self._audit.add([entry])

    def state(self, link: ReviewLink) -> State:
        now = self._clock()
        if link.revoked_at is not None or not self._is_maker_live(link, now):
            return "revoked"
        later = [
            each for each in self._store.history(link.record_id) if each.version > link.version
        ]
        if any(each.actor == link.actor for each in later):
            return "used"
        if any(not is_stay(each.trigger) for each in later):
            return "decided"
        if link.expires_at <= now:
            return "expired"
        return "unopened" if link.opened_at is None else "opened"

    def why_over(self, link: ReviewLink, state: State) -> str:
        """A sentence for the person who holds a link that is over."""
        if state != "decided":
            return SAID[state]
        return f"{SAID[state]}: {_end_reason(self._end(link))}"

    def view(self, link: ReviewLink) -> schemas.ReviewLink:
        """A link as the document of the HTTP API, which commands print too."""
        return schemas.ReviewLink(
            id=link.id,
            record_id=link.record_id,
            person=link.person,
            state=self.state(link),
            created_at=to_iso(link.created_at),
            created_by=link.created_by,
            expires_at=to_iso(link.expires_at),
            opened_at=to_iso_or_none(link.opened_at),
            revoked_at=to_iso_or_none(link.revoked_at),
        )

    def _end(self, link: ReviewLink) -> Transition:
        """The transition that ended the review of a link."""
        return next(
            each
            for each in self._store.history(link.record_id)
            if each.version > link.version and not is_stay(each.trigger)
        )

    def _is_maker_live(self, link: ReviewLink, now: Micros) -> bool:
        """A link gives no more than its maker has; one that no key made was made at the machine of the service."""
        if not link.key_id:
            return True
        key = self._keys.live(link.key_id, now=now)
        return key is not None and key.may("review")

    def _note(self, verb: str, link: ReviewLink, actor: str, further: Fields) -> None:
        detail: Fields = {"link": link.id, "person": link.person, **further}
        self._audit.add(
            [
                AuditEntry(
                    at=self._clock(),
                    actor=actor,
                    verb=verb,
                    record_id=link.record_id,
                    detail=detail,
                )
            ]
        )


def link_url(settings: Settings, text: str, *, host: str | None = None) -> str:
    """The address that a link is sent as; `host` is the name by which its maker reached the service."""
    return f"{public_url(settings, host=host)}{PATH}{text}"


def public_url(settings: Settings, *, host: str | None = None) -> str:
    """Where people reach the service, without a slash at the end."""
    api = settings.api
    scheme = "https" if api.tls_certificate or api.behind_tls_proxy else "http"
    listening = host or f"{api.host}:{api.port}"
    url = settings.notifications.public_url or f"{scheme}://{listening}"
    return url.rstrip("/")


def _check_person(person: str) -> str:
    """A name that can appear in a history as an actor."""
    named = person.strip()
    is_name = 0 < len(named) <= LINK_PERSON_CHARS_MAX and named.isprintable() and ":" not in named
    if not is_name or not named.partition("@")[0].strip():
        raise InvalidRequest(
            f"name the person, or an e-mail address: 1 to {LINK_PERSON_CHARS_MAX} printable characters without a colon"
        )
    return named


def _end_reason(transition: Transition) -> str:
    answer = transition.trigger.partition(".")[2].replace("_", " ") or transition.trigger
    return f"{answer} by {plain_actor(transition.actor)}, {to_iso(transition.at)[:16].replace('T', ' ')} UTC"

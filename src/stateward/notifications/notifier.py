"""The notifier: follows the log, makes deliveries and letters of it, has them sent, and writes down what came of it.

One thread drives it (`step`); posts and mails are made by a few threads of their own, which touch no database. Any
number of notifiers may run side by side and any of them may die: what one had under way is tried again by another.
Where nobody listens a step costs one look at a clock.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from email.message import EmailMessage

import msgspec

from stateward.core.model import SECOND, Micros
from stateward.notifications.alerts import Alerts
from stateward.notifications.deliveries import Delivery, Sent
from stateward.notifications.email import Email, EmailQueue, planned
from stateward.notifications.endpoints import Endpoints, Webhook
from stateward.notifications.messages import CONTENT_TYPES
from stateward.notifications.outbox import BATCH_MAX, Outbox
from stateward.notifications.sending import Sender
from stateward.notifications.signing import signed_headers
from stateward.notifications.smtp import Mailbox, Mailer, composed
from stateward.notifications.thread_pool import ThreadPool
from stateward.notifications.tracing import ended_attempts
from stateward.storage.counters import (
    ATTEMPT_TIMES,
    DELIVERIES,
    MAILS,
    Counters,
    Sums,
)
from stateward.storage.database import Database
from stateward.telemetry import Log
from stateward.telemetry.tracing import Attempt as TracedAttempt
from stateward.telemetry.tracing import Spans

LOOK_EVERY_S = 1.0
PACE_S = 0.02  # one transaction serves all that happened meanwhile
PRUNE_EVERY_S = 3600.0
LEASE_S = 10.0  # beyond the timeout of a post: a process that died is overtaken after that
SHARE = 0.75  # of the places are for those that wait, evenly; the rest is for who comes next
USER_AGENT = "stateward-webhook/1"


class Mailing(msgspec.Struct, frozen=True, kw_only=True):
    """How mail is sent, of what, and when it is gathered."""

    mailer: Mailer
    box: Mailbox
    topics: frozenset[str]
    digest_over: int
    digest_s: float


class Mailed(msgspec.Struct, frozen=True):
    """EmailQueue that went out in one mail, or why they did not."""

    letters: Sequence[Email]
    error: str | None


class Notifier:
    """Everything that leaves the house by itself."""

    def __init__(
        self,
        *,
        database: Database,
        endpoints: Endpoints,
        outbox: Outbox,
        sender: Sender,
        mailing: Mailing | None,
        concurrency: int,
        timeout_s: float,
        overdue_s: float,
        keep_s: float,
        clock: Callable[[], Micros],
        ticks: Callable[[], float],
        wake: Callable[[], None],
        log: Log,
        overdue_every_s: float = LOOK_EVERY_S,
        spans: Spans | None = None,
    ) -> None:
        self._database = database
        self._endpoints = endpoints
        self._outbox = outbox
        self._letters = EmailQueue(database)
        topics = frozenset() if mailing is None else mailing.topics
        self._concerns = Alerts(database, self._letters, topics=topics)
        self._counters = Counters(database)
        self._sender = sender
        self._mailing = mailing
        self._crew: ThreadPool[Sent | Mailed] = ThreadPool(concurrency, wake=wake)
        self._concurrency = concurrency
        self._lease_us = round((timeout_s + LEASE_S) * SECOND)
        self._overdue_us = round(overdue_s * SECOND)
        self._overdue_every_s = overdue_every_s
        self._overdue_at = 0.0
        self._spans = spans
        self._attempts: list[TracedAttempt] = []
        self._keep_us = round(keep_s * SECOND)
        self._clock, self._ticks, self._log = clock, ticks, log
        self._webhooks: dict[str, Webhook] = {}
        self._busy_with: Counter[str] = Counter()
        self._mails_out = 0
        self._is_draining = False
        self._look_at = 0.0
        self._pace_at = 0.0
        self._prune_at = 0.0
        self._seen = -1
        self._next_at: Micros | None = None
        self._ended: list[Sent | Mailed] = []
        self._is_held = False
        self._is_stalled = False

    # What the loop asks

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._busy_with.total() and not self._mails_out and not self._ended

    def is_done(self) -> bool:
        """Whether everything that is due now was tried."""
        self._learn()
        is_followed = not self._is_listening or self._seen >= self._outbox.head()
        is_tried = self._next_at is None or self._next_at > self._clock()
        return self.is_idle and is_followed and is_tried

    @property
    def wakes_in(self) -> float:
        """Seconds until there may be something to do without a ring."""
        ticks = self._ticks()
        waits = [self._look_at - ticks]
        if self._is_held:
            waits.append(self._pace_at - ticks)
        if self._next_at is not None and self._has_room and not self._is_stalled:
            waits.append((self._next_at - self._clock()) / SECOND)
        return max(0.0, min(waits))

    def drain(self) -> None:
        """Begin nothing new."""
        self._is_draining = True

    def close(self) -> None:
        """Leave; what is under way is tried again by another."""
        self._crew.close()
        if self._spans is not None:
            self._spans.close()

    @property
    def _is_listening(self) -> bool:
        return bool(self._webhooks) or self._mailing is not None or self._spans is not None

    @property
    def _has_room(self) -> bool:
        return self._busy_with.total() < self._concurrency

    # One step

    def step(self) -> bool:
        """Do what there is to do; whether there was anything."""
        ticks = self._ticks()
        self._ended += self._crew.ended()
        if ticks >= self._look_at:
            self._look_at = ticks + LOOK_EVERY_S
            self._look()
        elif self._is_listening or self._ended:
            self._is_held = ticks < self._pace_at
            if self._is_held or not (self._ended or self._is_due()):
                return False
        if not self._is_listening and not self._ended:
            return False
        self._pace_at = ticks + PACE_S
        return self._act()

    def _is_due(self) -> bool:
        is_time = self._next_at is not None and self._next_at <= self._clock()
        if is_time and self._has_room and not self._is_stalled:
            return True
        return self._outbox.head() > self._seen

    def _look(self) -> None:
        """Once a second: who listens, and what is there without a ring."""
        self._learn()
        self._concerns.settle_effects(now=self._clock())
        if not self._is_listening:
            self._skip_history()
        if self._ticks() >= self._overdue_at:
            self._overdue_at = self._ticks() + self._overdue_every_s
            self._concerns.about_overdue(now=self._clock(), overdue_us=self._overdue_us)
        self._is_stalled = False
        self._refresh_next()
        if self._ticks() >= self._prune_at:
            self._prune_at = self._ticks() + PRUNE_EVERY_S
            before = self._clock() - self._keep_us
            self._outbox.prune(before=before)
            self._letters.prune(before=before)

    def _learn(self) -> None:
        enabled = [each for each in self._endpoints.all() if each.is_enabled]
        self._webhooks = {each.id: each for each in enabled}

    def _skip_history(self) -> None:
        """Nobody wants to hear of the past: who listens later begins there."""
        if self._outbox.head() == self._seen:
            return
        with self._database.transaction():
            self._outbox.place()  # so that nobody can begin to listen meanwhile
            self._learn()
            if not self._is_listening:
                self._seen = self._outbox.head()
                self._outbox.move_on(self._seen)

    def _act(self) -> bool:
        """All that there is, in one transaction; then the threads are given what was taken."""
        now = self._clock()
        ended, taken, mails = self._ended, [], []
        self._attempts = []
        with self._database.transaction():
            self._settle(ended, now=now)
            followed = self._follow(now=now)
            if not self._is_draining:
                taken, mails = self._take(now=now), self._take_letters(now=now)
            self._refresh_next()
        self._forget(ended)
        if self._spans is not None:
            for attempt in self._attempts:
                self._spans.tell(attempt)
        for delivery, webhook in taken:
            self._busy_with[webhook.id] += 1
            self._crew.give(self._post(delivery, webhook))
        for letters in mails:
            self._mails_out += 1
            self._crew.give(self._mail(letters))
        # What is due but has no place now waits for one to end, or for the next look.
        self._is_stalled = not (ended or taken or mails)
        return bool(ended or followed or taken or mails)

    def _forget(self, ended: Sequence[Sent | Mailed]) -> None:
        """What is durable is no longer ours."""
        self._ended = []
        for each in ended:
            if isinstance(each, Sent):
                self._busy_with[each.webhook.id] -= 1
            else:
                self._mails_out -= 1

    def _refresh_next(self) -> None:
        waits = [self._outbox.next_at()]
        if self._mailing is not None:
            waits.append(self._letters.next_at())
        self._next_at = min((each for each in waits if each is not None), default=None)

    # From the log and the effects

    def _follow(self, *, now: Micros) -> int:
        """Make deliveries and letters of what happened; how many transitions were looked at."""
        place = self._outbox.place()
        rows = self._outbox.news(after=place)
        if not rows:
            self._seen = max(self._seen, place)
            return 0
        self._learn()  # whoever was added before the cursor could be locked hears of it
        self._outbox.fan_out(rows, list(self._webhooks.values()), now=now)
        self._concerns.settle_effects(now=now)
        self._concerns.about_timeouts(rows, now=now)
        last = int(rows[-1][0] or 0)
        if self._spans is not None:
            self._attempts = ended_attempts(self._database, after=place, until=last)
        self._outbox.move_on(last)
        self._seen = last if len(rows) < BATCH_MAX else -1
        return len(rows)

    # Sending

    def _take(self, *, now: Micros) -> list[tuple[Delivery, Webhook]]:
        taken: list[tuple[Delivery, Webhook]] = []
        room = self._concurrency - self._busy_with.total()
        waiting = self._outbox.waited_for(now)
        share = max(1, int(self._concurrency * SHARE) // max(1, len(waiting)))
        for webhook_id in sorted(waiting, key=lambda each: self._busy_with[each]):
            webhook = self._webhooks.get(webhook_id)
            if webhook is None:
                self._outbox.bury_all(webhook_id, "the webhook is disabled", now=now)
                continue
            limit = min(room - len(taken), share - self._busy_with[webhook_id])
            found = self._outbox.take(webhook, now=now, until=now + self._lease_us, limit=limit)
            taken += [(each, webhook) for each in found]
        return taken

    def _post(self, delivery: Delivery, webhook: Webhook) -> Callable[[], Sent]:
        def post() -> Sent:
            at = self._clock()
            body = delivery.body.encode()
            headers = {
                "content-type": CONTENT_TYPES[webhook.content],
                "user-agent": USER_AGENT,
                **signed_headers(
                    delivery.message_id, second=at // SECOND, body=body, secrets=webhook.secrets(at)
                ),
                **({"traceparent": delivery.trace} if delivery.trace else {}),
            }
            answer = self._sender.post(webhook.url, body, headers)
            return Sent(delivery=delivery, webhook=webhook, at=at, headers=headers, answer=answer)

        return post

    def _take_letters(self, *, now: Micros) -> list[Sequence[Email]]:
        mailing = self._mailing
        if mailing is None or self._mails_out:
            return []
        due = self._letters.take(now=now, until=now + self._lease_us)
        mails, later = planned(
            due,
            sent=self._letters.sent_since(now - round(mailing.digest_s * SECOND)),
            over=mailing.digest_over,
            window_s=mailing.digest_s,
            now=now,
        )
        if later is not None:
            self._letters.put_off(due, until=later)
        return mails

    def _mail(self, letters: Sequence[Email]) -> Callable[[], Mailed]:
        mailing = self._mailing
        message: EmailMessage | None = None
        if mailing is not None:
            message = composed(letters, mailing.box, now=self._clock())

        def mail() -> Mailed:
            if mailing is None or message is None:
                return Mailed(letters, "no mail is set up")
            return Mailed(letters, mailing.mailer.send(message))

        return mail

    # What came of it

    def _settle(self, ended: Sequence[Sent | Mailed], *, now: Micros) -> None:
        sent = [each for each in ended if isinstance(each, Sent)]
        sums = Sums()
        for each, state in zip(sent, self._outbox.settle(sent, now=now), strict=True):
            outcome = "failed" if state == "pending" else state
            sums.count(DELIVERIES, outcome)
            sums.time(ATTEMPT_TIMES, micros=each.answer.duration_ms * 1000)
            self._heed(each, state, now=now)
        for each_mail in ended:
            if isinstance(each_mail, Mailed):
                self._settle_mail(each_mail, sums, now=now)
        self._counters.add(sums)

    def _heed(self, sent: Sent, state: str, *, now: Micros) -> None:
        """What an answer means for the endpoint as a whole."""
        answer, webhook = sent.answer, sent.webhook
        if not answer.is_success:
            self._log.warning(
                f"{sent.delivery.message_id} to {webhook.id}: {answer.summary}",
                webhook_id=webhook.id,
                record_id=sent.delivery.record_id,
                attempt=sent.delivery.attempts,
                state=state,
            )
        if answer.is_gone:
            self._end(webhook, "it answered 410: gone", now=now)
        elif answer.retry_after_s:
            until = now + answer.retry_after_s * SECOND
            self._endpoints.rest(webhook.id, until)
            self._outbox.put_off(webhook.id, until=until)
        elif state == "dead":
            self._concerns.about_webhook(
                webhook, f"a delivery was given up: {answer.summary}", now=now
            )

    def _end(self, webhook: Webhook, reason: str, *, now: Micros) -> None:
        self._endpoints.disable(webhook.id, reason)
        self._outbox.bury_all(webhook.id, reason, now=now)
        self._webhooks.pop(webhook.id, None)
        self._concerns.about_webhook(webhook, reason, now=now)

    def _settle_mail(self, mailed: Mailed, sums: Sums, *, now: Micros) -> None:
        is_done = self._letters.settle(mailed.letters, error=mailed.error, now=now)
        outcome = "sent" if mailed.error is None else "dead" if is_done else "failed"
        sums.count(MAILS, outcome)
        if mailed.error is not None:
            self._log.warning(
                f"a mail could not be sent: {mailed.error}", letters=len(mailed.letters)
            )

"""The notifier: reads the history, makes deliveries and alerts of it, has them sent, and stores the results.

One thread drives it (`step`); webhooks and emails are sent by the threads of a pool, which touch no database. Any
number of notifiers may run side by side and any of them may die: what one had taken is tried again by another. While
there is no receiver, a step costs one comparison of times.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from stateward.core.errors import SecretUnreadable
from stateward.core.model import SECOND, Micros
from stateward.core.webhook_signing import signed_headers
from stateward.notifications.alerts import Alert, AlertQueue, AlertWriter, plan_emails
from stateward.notifications.deliveries import Delivery, FinishedAttempt
from stateward.notifications.email import EmailAddresses, Mailer, compose
from stateward.notifications.endpoints import Endpoints, Webhook, last_sequence
from stateward.notifications.messages import CONTENT_TYPES
from stateward.notifications.outbox import BATCH_MAX, Outbox
from stateward.notifications.sending import Sender, WebhookResponse
from stateward.notifications.thread_pool import ThreadPool
from stateward.notifications.tracing import attempts_ended
from stateward.storage.counters import ATTEMPT_TIMES, DELIVERIES, MAILS, CounterDeltas, Counters
from stateward.storage.database import Database
from stateward.storage.row_seals import lock_seals
from stateward.telemetry import Log
from stateward.telemetry.tracing import Spans, TracedAttempt

POLL_S = 1.0  # what no wake-up announces is noticed after that: new endpoints, overdue records
PACE_S = 0.02  # between two transactions: one serves everything that happened meanwhile
PRUNE_EVERY_S = 3600.0
SOURCES_EVERY_S = 300.0
# On top of the timeout of a post, for what comes before and after it; then a delivery counts as abandoned.
LEASE_MARGIN_S = 10.0
# Of the pool, shared evenly by the endpoints that have something due; the rest is for the next endpoint, so that
# slow receivers cannot hold all threads.
SHARE = 0.75
USER_AGENT = "stateward-webhook/1"


class EmailOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How alerts are sent: by which server, to whom, about what, and when they are collected into a digest."""

    mailer: Mailer
    addresses: EmailAddresses
    topics: frozenset[str]
    digest_over: int
    digest_s: float


class NotifierOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and intervals. `overdue_s` after its time a record is reported as stuck."""

    concurrency: int
    timeout_s: float
    overdue_s: float
    overdue_every_s: float
    retention_s: float


class FinishedEmail(msgspec.Struct, frozen=True):
    """Alerts that were sent in one email, or the reason why they were not."""

    alerts: Sequence[Alert]
    error: str | None


class Notifier:
    """Delivers webhooks, emails and spans about what has been committed."""

    def __init__(
        self,
        options: NotifierOptions,
        *,
        database: Database,
        endpoints: Endpoints,
        outbox: Outbox,
        sender: Sender,
        email: EmailOptions | None,
        spans: Spans | None,
        clock: Callable[[], Micros],
        ticks: Callable[[], float],
        wake: Callable[[], None],
        log: Log,
    ) -> None:
        self._options = options
        self._database = database
        self._endpoints = endpoints
        self._outbox = outbox
        self._sender = sender
        self._email = email
        self._spans = spans
        self._clock, self._ticks, self._log = clock, ticks, log
        self._queue = AlertQueue(database)
        topics = frozenset() if email is None else email.topics
        self._alerts = AlertWriter(database, self._queue, topics=topics)
        self._counters = Counters(database)
        self._pool: ThreadPool[FinishedAttempt | FinishedEmail] = ThreadPool(
            options.concurrency, wake=wake
        )
        self._lease_us = round((options.timeout_s + LEASE_MARGIN_S) * SECOND)
        self._webhooks: dict[str, Webhook] = {}
        self._running: Counter[str] = Counter()  # attempts in the pool, by endpoint
        self._emails_running = 0
        self._finished: list[FinishedAttempt | FinishedEmail] = []
        self._is_draining = False
        # Ticks before which nothing happens: the next poll, transaction, check for overdue records and pruning.
        self._poll_at = self._pace_at = self._overdue_at = self._prune_at = self._sources_at = 0.0
        self._is_paced = False
        self._processed = -1  # the last transition that is known to be processed
        self._next_at: Micros | None = None  # when the next attempt is due
        # Something is due that this process cannot take now, because no thread is free or another process has it.
        self._is_stalled = False

    # For the loop that drives it

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being sent or waits to be stored."""
        return not self._running.total() and not self._emails_running and not self._finished

    def is_done(self) -> bool:
        """Whether everything that is due now has been tried."""
        self._load_webhooks()
        is_caught_up = not self._has_receivers or self._processed >= last_sequence(self._database)
        is_tried = self._next_at is None or self._next_at > self._clock()
        return self.is_idle and is_caught_up and is_tried

    @property
    def wakes_in(self) -> float:
        """Seconds until there may be something to do without a wake-up."""
        ticks = self._ticks()
        waits = [self._poll_at - ticks]
        if self._is_paced:
            waits.append(self._pace_at - ticks)
        if self._next_at is not None and self._has_free_thread and not self._is_stalled:
            waits.append((self._next_at - self._clock()) / SECOND)
        return max(0.0, min(waits))

    def drain(self) -> None:
        """Start nothing new."""
        self._is_draining = True

    def close(self) -> None:
        """Stop; what is being sent is tried again by another process."""
        self._pool.close()
        if self._spans is not None:
            self._spans.close()

    @property
    def _has_receivers(self) -> bool:
        return bool(self._webhooks) or self._email is not None or self._spans is not None

    @property
    def _has_free_thread(self) -> bool:
        return self._running.total() < self._options.concurrency

    # One step

    def step(self) -> bool:
        """Do what there is to do; whether there was anything."""
        ticks = self._ticks()
        self._finished += self._pool.results()
        if ticks >= self._poll_at:
            self._poll_at = ticks + POLL_S
            self._poll()
        elif self._has_receivers or self._finished:
            self._is_paced = ticks < self._pace_at
            if self._is_paced or not (self._finished or self._is_due()):
                return False
        if not self._has_receivers and not self._finished:
            return False
        self._pace_at = ticks + PACE_S
        return self._process()

    def _is_due(self) -> bool:
        is_time = self._next_at is not None and self._next_at <= self._clock()
        if is_time and self._has_free_thread and not self._is_stalled:
            return True
        return last_sequence(self._database) > self._processed

    def _poll(self) -> None:
        """Look for what no wake-up announces."""
        now, ticks = self._clock(), self._ticks()
        self._load_webhooks()
        self._alerts.settle_effects(now=now)
        if not self._has_receivers:
            self._skip_history()
        if ticks >= self._overdue_at:
            self._overdue_at = ticks + self._options.overdue_every_s
            self._alerts.about_overdue(now=now, overdue_us=round(self._options.overdue_s * SECOND))
        if ticks >= self._sources_at:
            self._sources_at = ticks + SOURCES_EVERY_S
            self._alerts.about_sources(now=now)
        self._is_stalled = False
        self._find_next()
        if ticks >= self._prune_at:
            self._prune_at = ticks + PRUNE_EVERY_S
            before = now - round(self._options.retention_s * SECOND)
            self._outbox.prune(before=before)
            self._queue.prune(before=before)

    def _load_webhooks(self) -> None:
        self._webhooks = {each.id: each for each in self._endpoints.all() if each.is_enabled}

    def _skip_history(self) -> None:
        """Without a receiver the cursor moves to the end: a later one gets nothing of the past anyway."""
        if last_sequence(self._database) == self._processed:
            return
        with self._database.transaction():
            self._outbox.cursor()  # locked, so that no endpoint can be added meanwhile (Endpoints.add)
            self._load_webhooks()
            if not self._has_receivers:
                self._processed = last_sequence(self._database)
                self._outbox.move_cursor(self._processed)

    def _process(self) -> bool:
        """Everything there is, in one transaction; afterwards the pool gets what was taken.

        In this order: if the commit fails nothing was sent, and if the process dies after it the deliveries that it
        took are due again when their lease ends.
        """
        now = self._clock()
        finished = self._finished
        deliveries: list[tuple[Delivery, Webhook]] = []
        emails: list[Sequence[Alert]] = []
        with self._database.transaction():
            # First, and then the seals, as in every change of an endpoint: see `notifications.endpoints`.
            self._outbox.cursor()
            if any(
                isinstance(each, FinishedAttempt) and each.response.is_gone for each in finished
            ):
                lock_seals(self._database)
            self._settle(finished, now=now)
            count, traced = self._read_history(now=now)
            if not self._is_draining:
                deliveries, emails = self._take_deliveries(now=now), self._take_alerts(now=now)
            self._find_next()
        # Only now that the results are durable.
        self._finished = []
        for each in finished:
            if isinstance(each, FinishedAttempt):
                self._running[each.webhook.id] -= 1
            else:
                self._emails_running -= 1
        if self._spans is not None:
            for attempt in traced:
                self._spans.record(attempt)
        for delivery, webhook in deliveries:
            self._running[webhook.id] += 1
            self._pool.submit(self._posting(delivery, webhook))
        for alerts in emails:
            self._emails_running += 1
            self._pool.submit(self._emailing(alerts))
        self._is_stalled = not (finished or deliveries or emails)
        return bool(finished or count or deliveries or emails)

    def _find_next(self) -> None:
        times = [self._outbox.next_at()]
        if self._email is not None:
            times.append(self._queue.next_at())
        self._next_at = min((each for each in times if each is not None), default=None)

    def _read_history(self, *, now: Micros) -> tuple[int, list[TracedAttempt]]:
        """Make deliveries and alerts of the next transitions; how many those were, and the attempts they ended."""
        cursor = self._outbox.cursor()
        rows = self._outbox.transitions(after=cursor)
        if not rows:
            self._processed = max(self._processed, cursor)
            return 0, []
        self._load_webhooks()  # after the cursor is locked: an endpoint that was added before gets these
        self._outbox.fan_out(rows, list(self._webhooks.values()), now=now)
        self._alerts.settle_effects(now=now)
        self._alerts.about_timeouts(rows, now=now)
        last = int(rows[-1][0] or 0)
        self._outbox.move_cursor(last)
        self._processed = last if len(rows) < BATCH_MAX else -1  # a full batch: there may be more
        if self._spans is None:
            return len(rows), []
        return len(rows), attempts_ended(self._database, after=cursor, until=last)

    # Sending

    def _take_deliveries(self, *, now: Micros) -> list[tuple[Delivery, Webhook]]:
        taken: list[tuple[Delivery, Webhook]] = []
        free = self._options.concurrency - self._running.total()
        due = self._outbox.endpoints_due(now)
        share = max(1, int(self._options.concurrency * SHARE) // max(1, len(due)))
        for webhook_id in sorted(due, key=lambda each: self._running[each]):
            webhook = self._webhooks.get(webhook_id)
            if webhook is None:
                self._outbox.mark_dead(webhook_id, "the webhook is disabled", now=now)
                continue
            limit = min(free - len(taken), share - self._running[webhook_id])
            found = self._outbox.take(webhook, now=now, until=now + self._lease_us, limit=limit)
            taken += [(each, webhook) for each in found]
        return taken

    def _posting(self, delivery: Delivery, webhook: Webhook) -> Callable[[], FinishedAttempt]:
        def post() -> FinishedAttempt:
            at = self._clock()
            body = delivery.body.encode()
            try:
                secrets = self._endpoints.secrets(webhook, at)
            except SecretUnreadable as error:
                unsigned = WebhookResponse(error=f"it could not be signed: {error}")
                return FinishedAttempt(
                    delivery=delivery, webhook=webhook, at=at, headers={}, response=unsigned
                )
            headers = {
                "content-type": CONTENT_TYPES[webhook.content],
                "user-agent": USER_AGENT,
                **signed_headers(
                    delivery.message_id, second=at // SECOND, body=body, secrets=secrets
                ),
                **({"traceparent": delivery.trace} if delivery.trace else {}),
            }
            response = self._sender.post(webhook.url, body, headers)
            return FinishedAttempt(
                delivery=delivery, webhook=webhook, at=at, headers=headers, response=response
            )

        return post

    def _take_alerts(self, *, now: Micros) -> list[Sequence[Alert]]:
        email = self._email
        if (
            email is None or self._emails_running
        ):  # one after the other: the digest counts those sent
            return []
        due = self._queue.take(now=now, until=now + self._lease_us)
        emails, later = plan_emails(
            due,
            sent=self._queue.sent_since(now - round(email.digest_s * SECOND)),
            over=email.digest_over,
            window_s=email.digest_s,
            now=now,
        )
        if later is not None:
            self._queue.postpone(due, until=later)
        return emails

    def _emailing(self, alerts: Sequence[Alert]) -> Callable[[], FinishedEmail]:
        email = self._email
        if email is None:
            return lambda: FinishedEmail(alerts, "no mail server is configured")
        message = compose(alerts, email.addresses, now=self._clock())
        return lambda: FinishedEmail(alerts, email.mailer.send(message))

    # Results

    def _settle(self, finished: Sequence[FinishedAttempt | FinishedEmail], *, now: Micros) -> None:
        attempts = [each for each in finished if isinstance(each, FinishedAttempt)]
        sums = CounterDeltas()
        for attempt, state in zip(attempts, self._outbox.settle(attempts, now=now), strict=True):
            sums.count(DELIVERIES, "failed" if state == "pending" else state)
            sums.time(ATTEMPT_TIMES, micros=attempt.response.duration_ms * 1000)
            self._react(attempt, state, now=now)
        for each in finished:
            if isinstance(each, FinishedEmail):
                is_done = self._queue.settle(each.alerts, error=each.error, now=now)
                sums.count(MAILS, "sent" if each.error is None else "dead" if is_done else "failed")
                if each.error is not None:
                    self._log.warning(
                        f"an email could not be sent: {each.error}", alerts=len(each.alerts)
                    )
        self._counters.add(sums)

    def _react(self, attempt: FinishedAttempt, state: str, *, now: Micros) -> None:
        """What a response means for the endpoint as a whole."""
        response, webhook = attempt.response, attempt.webhook
        if not response.is_success:
            self._log.warning(
                f"{attempt.delivery.message_id} to {webhook.id}: {response.summary}",
                webhook_id=webhook.id,
                record_id=attempt.delivery.record_id,
                attempt=attempt.delivery.attempts,
                state=state,
            )
        if response.is_gone:
            reason = "it answered 410: gone"
            self._endpoints.disable(webhook.id, reason, now=now)
            self._outbox.mark_dead(webhook.id, reason, now=now)
            self._webhooks.pop(webhook.id, None)
            self._alerts.about_webhook(webhook, reason, now=now)
        elif response.retry_after_s:
            until = now + response.retry_after_s * SECOND
            self._endpoints.pause(webhook.id, until)
            self._outbox.postpone(webhook.id, until=until)
        elif state == "dead":
            reason = f"a delivery was given up: {response.summary}"
            self._alerts.about_webhook(webhook, reason, now=now)

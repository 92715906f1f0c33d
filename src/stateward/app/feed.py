"""The change feed of an installation: who sends it, and how it is looked at and repeated."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from stateward import schemas, telemetry
from stateward.app import App
from stateward.core.errors import InvalidRequest, StatewardError
from stateward.core.model import Fields, to_iso_or_none
from stateward.notifications.feed import Feed, FeedStatus
from stateward.notifications.feed_targets import FeedTarget, open_target
from stateward.settings import FeedSettings, Settings
from stateward.storage.audit import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_S = 0.2  # how soon a transition is sent that was made while nothing was left to send
PAUSE_S = 0.5
PAUSE_S_MAX = 5.0  # so much later than its engine the feed goes on at most
REMIND_S = 60.0
CLOSE_S = 5.0
REPLAYED = "feed.replayed"


def feed_of(app: App) -> Feed:
    """The feed of an app, on its own connection: the app must be used by this thread alone."""
    settings = app.settings
    return Feed(
        settings.feed,
        database=app.database,
        store=app.store,
        source=settings.notifications.public_url,
        lock_folder=None if settings.store_path is None else settings.store_path.parent,
        kinds=lambda: {name: dict(own.kind) for name, own in app.registry.newest.items()},
    )


def target_of(own: FeedSettings) -> FeedTarget:
    """The engine that the settings name."""
    return open_target(
        own.url or "",
        timeout_s=own.timeout_seconds,
        length_max=own.length_max,
        subjects=own.topic.replace("{machine}", "*").replace("{status}", "*"),
    )


def feed_status(app: App) -> FeedStatus:
    """How far the feed has come."""
    return _configured_feed(app).status()


def replay_feed(app: App, seq: int, *, actor: str) -> FeedStatus:
    """Have everything from a transition on sent again by the process that sends; who wanted it is in the audit log."""
    feed = _configured_feed(app)
    feed.replay(seq)
    detail: Fields = {"from": seq}
    app.audit.add([AuditEntry(at=app.clock(), actor=actor, verb=REPLAYED, detail=detail)])
    return feed.status()


def feed_view(app: App, found: FeedStatus) -> schemas.FeedDocument:
    """How far the feed has come, as a document."""
    late_s = found.late_s(app.clock())
    return schemas.FeedDocument(
        sent=found.sent,
        end=found.end,
        behind=found.behind,
        late_seconds=round(late_s, 3),
        oldest_at=to_iso_or_none(found.oldest_at),
        is_late=late_s > app.settings.feed.warn_after_seconds,
    )


def _configured_feed(app: App) -> Feed:
    if app.settings.feed.url is None:
        raise InvalidRequest("no change feed is configured: name its target in feed.url")
    return feed_of(app)


@contextmanager
def running_feed(settings: Settings, open_app: "Callable[[], App]") -> Iterator[None]:
    """Send the feed as long as this lasts, in a thread: a slow engine must not hold up any record."""
    if settings.feed.url is None:
        yield
        return
    ending = Event()
    thread = Thread(target=_run, args=(settings, open_app, ending), name="feed", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(CLOSE_S)  # a batch that is under way may end; what does not is sent again


def _run(settings: Settings, open_app: "Callable[[], App]", ending: Event) -> None:
    """Send until the end; whatever fails is tried again, with longer and longer pauses."""
    failures = 0
    said_after = 0.0
    while not ending.is_set():
        try:
            with open_app() as app:
                for _ in sent_batches(app, ending):
                    if failures:
                        telemetry.log("feed").warning("goes on", failures=failures)
                    failures, said_after = 0, 0.0
        except (StatewardError, OSError) as error:
            pause = min(PAUSE_S * 2**failures, PAUSE_S_MAX)
            if said_after <= 0:
                telemetry.log("feed").error(f"cannot be sent, trying again: {error}")
                said_after = REMIND_S
            said_after -= pause
            failures = min(failures + 1, 10)
            ending.wait(pause)


def sent_batches(app: App, ending: Event) -> Iterator[int]:
    """Send batch after batch until `ending`; yields how many transitions each had, 0 when there was none."""
    feed, target = feed_of(app), target_of(app.settings.feed)
    try:
        while not ending.is_set():
            count = feed.step(target)
            yield count
            if not count:
                ending.wait(LOOK_S)
    finally:
        target.close()

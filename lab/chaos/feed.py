"""The change feed while its senders die and its engine goes away, and a system that follows it and dies as well."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from random import Random

import msgspec

from lab.brokers import Broker, nats_broker, nats_program, redis_broker, redis_program
from lab.chaos.processes import Member, until
from lab.feed_follower import Follower, Read, kafka_reader, nats_reader, redis_reader
from lab.kafka_mock import KafkaMock
from stateward.app import App
from stateward.app.feed import feed_status, replay_feed
from stateward.notifications.feed_targets import STREAM

REDIS, NATS, KAFKA = ENGINES = ("redis", "nats", "kafka")
TOPIC = "changes"
BATCH_MAX = 5  # small, so that many batches are cut in the middle
TIMEOUT_S = 3.0
AWAY_S_MAX = 4.0
KILLS = 3
REST_S_MAX = 60.0
Server = Broker | KafkaMock


class FeedEngine(msgspec.Struct, frozen=True, kw_only=True):
    """The engine that the feed of a round goes to, and the system that follows it there."""

    server: Server
    follower: Follower

    def settings(self) -> Mapping[str, object]:
        """What the settings of a process say of it."""
        return {
            "url": self.server.url,
            "topic": TOPIC,
            "batch_max": BATCH_MAX,
            "timeout_seconds": TIMEOUT_S,
        }

    def stop(self) -> None:
        """Kill the server; the mock cluster of Kafka refuses connections from now on, and keeps what it has."""
        if isinstance(self.server, KafkaMock):
            self.server.stop()
        else:
            self.server.kill()

    def go_on(self) -> None:
        """Start it again."""
        if isinstance(self.server, KafkaMock):
            self.server.go_on()
        else:
            self.server.start()


_READERS: dict[str, Callable[[str], Read]] = {
    REDIS: lambda url: redis_reader(url, TOPIC),
    NATS: lambda url: nats_reader(url, STREAM),
    KAFKA: lambda url: kafka_reader(url, TOPIC),
}
_SERVERS: dict[str, Callable[[], Server]] = {
    REDIS: redis_broker,
    NATS: nats_broker,
    KAFKA: lambda: KafkaMock(settings=""),
}


@contextmanager
def feed_engine(kind: str) -> Iterator[FeedEngine]:
    """A server of this kind, and who follows the feed there."""
    with _SERVERS[kind]() as server:
        yield FeedEngine(server=server, follower=Follower(_READERS[kind](server.url)))


def lacks_feed(kind: str) -> str:
    """Why an engine cannot be started here, if so."""
    if kind == KAFKA:
        return "" if find_spec("confluent_kafka") else "confluent-kafka is not installed"
    program = {REDIS: redis_program, NATS: nats_program}[kind]()
    return "" if program else f"no {kind}-server is installed"


def hurt_feed(engine: FeedEngine, senders: list[Member], app: App, rng: Random) -> str:
    """Kill senders, take the engine away and ask for a part again, in any order; what was done, in words."""
    told: list[str] = []

    def kill() -> None:
        victim = rng.choice(senders)
        victim.kill()
        time.sleep(rng.uniform(0.0, 1.0))
        victim.start()
        told.append(f"kill -9 {victim.name}")

    def go_away() -> None:
        away_s = rng.uniform(0.0, AWAY_S_MAX)
        engine.stop()
        time.sleep(away_s)
        engine.go_on()
        told.append(f"engine away for {away_s:.1f} s")

    def replay() -> None:
        seq = rng.randint(1, feed_status(app).sent + 1)
        replay_feed(app, seq, actor="person:chaos")
        told.append(f"replay from {seq}")

    acts = [kill] * KILLS + [go_away, replay]
    rng.shuffle(acts)
    for act in acts:
        act()
        follow(engine.follower, rng)
    return ", ".join(told)


def follow(follower: Follower, rng: Random) -> None:
    """Have the follower read what it can, and die as often as not before it has saved that."""
    with suppress(ConnectionError):
        follower.step()
    if rng.random() < 0.5:
        follower.die()
    else:
        follower.save()


def caught_up_s(app: App) -> float:
    """Wait until all that there is now has been sent; how long that took."""
    end = app.store.log.end()
    return until(
        lambda: feed_status(app).sent >= end, s_max=REST_S_MAX, what="the feed to catch up"
    )


def unlike_store(follower: Follower, app: App) -> Iterator[str]:
    """In which way a follower, when all was sent, has not exactly the statuses of the store."""
    try:
        until(lambda: not feed_status(app).behind, s_max=REST_S_MAX, what="the feed to end")
    except TimeoutError as error:
        yield str(error)
    follower.step()
    yield from follower.wrong
    stored = {each.id: (each.version, each.status) for each in app.store.walk()}
    for record_id in sorted(stored.keys() | follower.known.keys()):
        there, here = stored.get(record_id), follower.known.get(record_id)
        if there != here:
            yield f"{record_id} is {there} in the store, and {here} by the feed"

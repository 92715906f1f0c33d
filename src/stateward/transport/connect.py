"""Which engine a URL names. Its library is an extra, and is imported when it is used."""

from urllib.parse import urlsplit

from stateward.core.errors import InvalidRequest
from stateward.extras import missing_extra
from stateward.transport.engine import DEPTH_MAX, Engine, masked_url


def connect(url: str, *, consumer: str, lease_s: float, depth_max: int = DEPTH_MAX) -> Engine:
    """The engine that a URL names. `consumer` must be another one for each process that is alive."""
    scheme = urlsplit(url).scheme
    try:
        if scheme in ("redis", "rediss"):
            from stateward.transport.redis_streams import RedisEngine

            return RedisEngine(url, consumer=consumer, lease_s=lease_s, depth_max=depth_max)
        if scheme in ("nats", "tls"):
            from stateward.transport.jetstream import JetStreamEngine

            return JetStreamEngine(url, consumer=consumer, lease_s=lease_s, depth_max=depth_max)
        if scheme == "kafka":
            from stateward.transport.kafka import KafkaEngine

            return KafkaEngine(url, consumer=consumer, lease_s=lease_s, depth_max=depth_max)
    except ImportError as error:
        raise missing_extra(error) or error from error
    raise InvalidRequest(
        f"{masked_url(url)} names no transport: write redis://, nats:// or kafka://"
    )

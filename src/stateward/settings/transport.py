"""How work reaches workers that have no database."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from stateward.core.field_docs import about
from stateward.definition.section import Bytes, Count, FilePath, Problem, Section

DATABASE_URL = "database:"
SCHEMES = ("redis", "rediss", "nats", "tls", "kafka")
LISTING = ("nats", "tls", "kafka")  # whose URLs may name several servers
_SERVER = r"(\[[0-9a-fA-F:.]+\]|[^\s,:/@\[\]]+)(:[0-9]{1,5})?"
_SERVERS = f"{_SERVER}(,{_SERVER})*"


class TransportSettings(Section, frozen=True, kw_only=True):
    """How work reaches workers, and results come back. The short form `transport: nats://host` sets `url` alone."""

    short_form: ClassVar = "url"

    url: Annotated[
        str,
        about(
            "`database:` (workers read it from the store), `redis://host:6379/0`, `nats://host:4222` or "
            "`kafka://host:9092,host:9092?name=value` (with settings of librdkafka, `partitions` and `replicas`): then "
            "coordinators also give work to workers that have no database."
        ),
    ] = DATABASE_URL
    prefix: Annotated[
        str,
        about(
            "What the names of all streams begin with: two installations on one server need two.",
            pattern=r"\A[a-z][a-z0-9_-]{0,40}\Z",
            title="a short name in small letters",
        ),
    ] = "stateward"
    blobs: Annotated[
        FilePath | None,
        about(
            "For workers without a database: a folder with the documents and derived files that "
            "coordinators have in theirs. null: the object storage of `artifacts`; without one, documents up to "
            "`inline_bytes_max` come inside the messages, and larger ones fail."
        ),
    ] = None
    credential: Annotated[
        FilePath | None,
        about(
            "For workers without a database: the file that `stateward key worker create` made. It signs "
            "what this worker reports, and says which stages it does. null: not signed, which coordinators refuse "
            "once there is a credential."
        ),
    ] = None
    inline_bytes_max: Annotated[
        Bytes,
        about(
            "The largest document or derived file that travels inside a message; larger ones are read from "
            "blob storage, which workers then have to reach."
        ),
    ] = 256 * 1024
    depth_max: Annotated[
        Count, about("Unsettled messages of one stream, beyond which publishers wait.")
    ] = 10_000

    @property
    def is_database(self) -> bool:
        """Whether all work goes through the store."""
        return self.url == DATABASE_URL

    def problems(self) -> Iterator[Problem]:
        """One sentence about a URL that names no engine."""
        if not self.is_database and not is_engine_url(self.url):
            yield (
                ("url",),
                "url must be database:, redis://host:port/number, nats://host:port,host:port or kafka://host:port; "
                "Sentinel and Redis Cluster are not supported; a token or password of NATS has / ? # @ percent-encoded",
            )


def is_engine_url(url: str) -> bool:
    """Whether a URL names servers of an engine."""
    scheme, _, rest = url.partition("://")
    if scheme in LISTING:  # several servers are no URL of one host
        hosts = rest.partition("?")[0].removesuffix("/")
        if scheme != "kafka":
            _, *after = re.split("[/?#]", rest, maxsplit=1)
            if "@" in "".join(after):  # the end of a login that is not encoded
                return False
            hosts = hosts.rpartition("@")[2]
        return re.fullmatch(_SERVERS, hosts) is not None
    try:
        parts = urlsplit(url)
        return parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False

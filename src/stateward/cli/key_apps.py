"""What `stateward key` asks for: in this process (`LocalKeys`) or over HTTP (`RemoteKeys`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from stateward.cli.apps import one_of

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.cli.context import CliContext
    from stateward.client import Client
    from stateward.schemas import KeyDocument, KeyRequest

DAY_S = 86_400.0


class Keys(Protocol):
    """The keys of a Stateward."""

    def whole(self, key_id: str) -> str:
        """The id that a person means, who may have typed its beginning."""
        return one_of(key_id, (each.id for each in self.all()))

    def create(self, asked: "KeyRequest") -> "KeyDocument":
        """Make a key; the answer has its text."""
        ...

    def all(self) -> "list[KeyDocument]":
        """Every key, without its secret."""
        ...

    def revoke(self, key_id: str) -> bool:
        """Close a key; whether it was open."""
        ...


@contextmanager
def keys(context: "CliContext") -> Iterator[Keys]:
    """The keys of this installation, or with --server those of another."""
    settings = context.settings()
    if settings.server.url is None:
        with context.local_app(settings) as app:
            yield LocalKeys(app)
        return
    from stateward.client import Client

    with context.client(Client) as client:
        yield RemoteKeys(client)


class LocalKeys(Keys):
    """In the database itself."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def create(self, asked: "KeyRequest") -> "KeyDocument":
        from stateward.app.key_views import key_view

        made, text = self._app.admin.new_key(
            asked.name,
            role=asked.role,
            pipelines=asked.pipelines,
            expires_in_s=None if asked.days is None else asked.days * DAY_S,
            rate_per_minute=asked.rate_per_minute,
            upload_bytes_max=asked.upload_bytes_max,
        )
        return key_view(made, now=self._app.clock(), text=text)

    def all(self) -> "list[KeyDocument]":
        from stateward.app.key_views import key_view

        now = self._app.clock()
        return [key_view(each, now=now) for each in self._app.keys.all()]

    def revoke(self, key_id: str) -> bool:
        return self._app.admin.revoke_key(key_id)


class RemoteKeys(Keys):
    """Over HTTP."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def create(self, asked: "KeyRequest") -> "KeyDocument":
        return self._client.create_key(
            asked.name,
            asked.role,
            pipelines=asked.pipelines,
            days=asked.days,
            rate_per_minute=asked.rate_per_minute,
            upload_bytes_max=asked.upload_bytes_max,
        )

    def all(self) -> "list[KeyDocument]":
        return self._client.keys()

    def revoke(self, key_id: str) -> bool:
        return self._client.revoke_key(key_id).was_open

"""Wake-ups over LISTEN and NOTIFY, each with a connection of its own that may be lost and come back."""

import selectors
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg

from stateward.core.errors import StoreUnreachable
from stateward.storage.libpq import Session
from stateward.storage.postgres_sql import SCHEMA

WAKEUP_PAUSE_S = 0.5  # between attempts to listen again, while the server is away


class PostgresWakeup:
    """LISTEN on a connection of its own. Losing it counts as a notification, because one may have been missed."""

    def __init__(
        self,
        connect: Callable[[], Session],
        topics: frozenset[str],
        *,
        on_close: Callable[["PostgresWakeup"], None],
    ) -> None:
        self._connect = connect
        self._topics = topics
        self._sql = ";".join(f"LISTEN {SCHEMA}_{topic}" for topic in sorted(topics))
        self._on_close = on_close
        self._session: Session | None = None
        self._is_closed = False
        # An epoll selector around the connection, because its descriptor stays the same when the connection is
        # replaced: the selector of a caller keeps working after the server was restarted.
        self._selector = selectors.DefaultSelector()
        try:
            self._listen()
        except BaseException:
            self._selector.close()
            raise

    def _listen(self) -> None:
        session = self._connect()
        try:
            session.command(self._sql)
            self._selector.register(session.socket, selectors.EVENT_READ)
        except BaseException:
            session.close()
            raise
        self._session = session

    def fileno(self) -> int:
        return self._selector.fileno()

    def clear(self) -> frozenset[str]:
        """Forget past notifications; listen again if the connection was lost. The topics there may have been any of."""
        if self._session is not None:
            channels = self._session.drain_notifications()
            if channels is not None:
                return frozenset(each.removeprefix(f"{SCHEMA}_") for each in channels)
            self._lose()
        self._try_to_listen()
        return self._topics  # some may have been missed

    def wait(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self._session is None:
            if self._try_to_listen():
                return True
            left = deadline - time.monotonic()
            time.sleep(max(0.0, min(left, WAKEUP_PAUSE_S)))
            if left <= WAKEUP_PAUSE_S:
                return False
        return bool(self._selector.select(max(0.0, deadline - time.monotonic())))

    def _try_to_listen(self) -> bool:
        with suppress(StoreUnreachable, psycopg.Error):
            self._listen()
        return self._session is not None

    def _lose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            for key in list(self._selector.get_map().values()):
                self._selector.unregister(key.fileobj)
            session.close()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._lose()
            self._selector.close()
            self._on_close(self)

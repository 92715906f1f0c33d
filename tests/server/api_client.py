"""A running service for tests: the real server on a real port, and an App on the same store to look behind it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from msgspec.structs import replace

from stateward.app import App
from stateward.client.steps import tls_context
from stateward.server.extra_routes import ExtraRoutes
from stateward.server.http_server import Server
from stateward.server.service import Service
from stateward.settings import Settings
from tests.waiting import WAIT_S_MAX, wait_until

STATEMENT = b"date;amount;text\n2026-01-02;-12,50;Coffee\n2026-01-03;-3,00;Bread\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
PDF = b"%PDF-1.7\n1 0 obj\n"


def statement(number: int) -> bytes:
    """A statement like no other."""
    return STATEMENT + b"2026-01-04;-%d,00;Tram\n" % number


class ApiClient:
    """One service, and a client of it."""

    def __init__(
        self, url: str, app: App, key: str | None = None, *, service: Service | None = None
    ) -> None:
        self.url = url
        self.app = app
        self._service = service
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.http = httpx2.Client(
            base_url=url, headers=headers, timeout=WAIT_S_MAX, verify=tls_context(url)
        )
        self._others: list[ApiClient] = []

    def close(self) -> None:
        for each in (self, *self._others):
            each.http.close()

    @property
    def service(self) -> Service:
        """The service behind the address, to see what it is doing just now."""
        assert self._service is not None
        return self._service

    def until_quiet(self) -> None:
        """Wait until no request is under way; one may still be when its answer is here."""
        wait_until(lambda: self.service.requests == 0)

    def get(self, path: str, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
        return self.http.get(path, **how)

    def post(self, path: str, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
        return self.http.post(path, **how)

    def send(
        self,
        content: bytes = STATEMENT,
        *,
        name: str = "january.csv",
        path: str = "/uploads",
        headers: Mapping[str, str] | None = None,
        **fields: Any,  # noqa: ANN401 - texts
    ) -> httpx2.Response:
        """A document, as a browser's form sends it."""
        data = {"source_type": "bank_csv", **fields} if path.startswith("/uploads") else fields
        return self.post(path, files={"file": (name, content)}, data=data, headers=headers or {})

    def sent(self, content: bytes = STATEMENT, **fields: Any) -> str:  # noqa: ANN401 - texts
        """The id of an upload that was taken."""
        answer = self.send(content, **fields)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["upload_id"])

    def work(self) -> None:
        """Have all that waits done."""
        self.app.run_until_idle()

    def with_key(self, **how: Any) -> "ApiClient":  # noqa: ANN401 - the words of `new_key`
        """The same service, with a key of its own."""
        _, text = self.app.admin.new_key(how.pop("name", "anna"), **how)
        self._others.append(ApiClient(self.url, self.app, text, service=self._service))
        return self._others[-1]


def settings_at(folder: Path, *, store_url: str | None = None, **api: Any) -> Settings:  # noqa: ANN401
    """Settings of a service that listens at a free port."""
    environ = {"STATEWARD_DATA": str(folder)}
    if store_url is not None:
        environ["STATEWARD_STORE_URL"] = store_url
    settings = Settings.load(environ=environ)
    return replace(settings, api=replace(settings.api, **{"port": 0, **api}))


@contextmanager
def serving(settings: Settings, *, extra_routes: ExtraRoutes | None = None) -> Iterator[ApiClient]:
    """A service as long as this lasts."""
    with (
        Server(settings, open_app=lambda: App(settings), extra_routes=extra_routes) as server,
        App(settings) as app,
    ):
        api = ApiClient(server.url, app, service=server.service)
        yield api
        api.close()


def problem(answer: httpx2.Response) -> str:
    """The word of a problem; an answer that is none fails the test."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document = answer.json()
    assert document["status"] == answer.status_code
    return str(document["type"]).removeprefix("urn:stateward:problem:")

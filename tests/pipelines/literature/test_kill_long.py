"""kill -9 while papers are fetched, embedded and indexed: nothing lost, nothing fetched or paid for twice."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stateward.app import App
from stateward.app.vector_file import VectorFile
from stateward.cli import cli
from stateward.core.model import SECOND
from stateward.pipelines.literature.sources import request_document
from stateward.settings import Settings
from stateward.storage.full_text import FullTextIndex
from stateward.storage.ranked import RankedIndex
from stateward.storage.vectors import Vectors
from tests.pipelines.literature.articles import PMC
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

PAPERS = 12
KILLS = 4
PATIENCE_S = 600.0
SIZE = 8
UNKNOWN = range(800, 803)  # papers that the source does not know
ON_THE_WAY = 4  # answers that the children of a process can be reading at once
WORDS = " ".join(f"w{number}" for number in range(500))


class World:
    """Europe PMC and an embedder in one server: both count what they answered, and can be told to hold an answer."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()
        self.order: list[str] = []
        self.held: Callable[[str], bool] = lambda _: False
        self.holding: list[str] = []
        self.url = ""

    def article(self, number: str) -> bytes:
        text = PMC.replace("10.5555/SJ.2010.10", f"10.5555/k.{number}")
        text = text.replace("99000010", f"5{number}").replace("9900010", f"5{number}")
        text = text.replace("Salt &amp; sugar", f"Paper n{number} of salt and sugar")
        return text.replace("Soup is salted.", f"Soup is salted. {WORDS}").encode()

    def get(self, path: str, query: str) -> tuple[str, bytes]:
        """What is asked for, and the answer."""
        number = query.rpartition("k.")[2].partition("%")[0] if query else path.split("/")[2][3:]
        if path == "/epmc/search":
            hit = {"doi": f"10.5555/k.{number}", "pmcid": f"PMC{number}", "isOpenAccess": "Y"}
            found = [] if int(number) in UNKNOWN else [hit]
            return f"search {number}", json.dumps({"resultList": {"result": found}}).encode()
        return f"text {number}", self.article(number)

    def embed(self, texts: list[str]) -> tuple[str, bytes]:
        rows = [{"index": n, "embedding": [1.0, float(len(text)), *[0.5] * (SIZE - 2)]}
                for n, text in enumerate(texts)]  # fmt: skip
        return f"embed {texts[0]}", json.dumps({"data": rows}).encode()


@pytest.fixture
def world() -> Iterator[World]:
    found = World()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            self._send(*found.get(path, query))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*found.embed(body["input"]))

        def _send(self, what: str, body: bytes) -> None:
            if found.held(what):
                found.holding.append(what)
                wait_until(lambda: not found.held(what))
                self.close_connection = True
                return
            with suppress(OSError):  # who asked may have been killed
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                found.answered[what] += 1
                found.order.append(what)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> dict[str, str]:
    """Where records are kept, as the settings want it."""
    is_sqlite = request.param == "sqlite"
    return {} if is_sqlite else {"url": request.getfixturevalue("postgres_url")}


def settled(folder: Path, world: World, store: dict[str, str]) -> Path:
    config = folder / "stateward.json"
    document = {
        "data": str(folder / "data"),
        "store": store,
        "ledger": {"mirror": str(folder / "ledger")},
        "worker": {"heartbeat_seconds": 0.5, "lease_seconds": 2, "deliveries_max": 50},
        "literature": {
            "fetch": {"europepmc_url": f"{world.url}/epmc", "pause_seconds": 0, "allow": ["127.0.0.1"]},
            "embed": {"base_url": f"{world.url}/v1", "endpoint_model": "m", "batch": 1},
        },
    }  # fmt: skip
    config.write_text(json.dumps(document), "utf-8")
    return config


class Processes:
    """`stateward up`, killed and started again."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "stateward", "--config", str(self._config), "up", "--port", "0"]  # fmt: skip
        with (self._config.parent / "up.log").open("ab") as log:
            self._running = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})

    def kill(self) -> None:
        if self._running is not None:
            self._running.send_signal(signal.SIGKILL)
            self._running.wait()


@contextmanager
def running(config: Path) -> Iterator[Processes]:
    processes = Processes(config)
    processes.start()
    try:
        yield processes
    finally:
        processes.kill()


def add(app: App, number: int) -> str:
    request = request_document("doi", f"10.5555/k.{number}")
    labels = {"source_type": "europepmc"}
    return app.submit(request, machine="literature", labels=labels).record.id


def wait_for_all(app: App, ids: list[str]) -> None:
    def are_completed() -> bool:
        found = app.store.load(ids).values()
        assert {each.error_code for each in found} <= {None, "NOT_FOUND"}
        return all(each.status in ("completed", "failed") for each in found)

    wait_until(are_completed, timeout_s=PATIENCE_S)
    wait_until(app.indexer.is_done, timeout_s=PATIENCE_S)


@pytest.mark.parametrize("held", ["text", "embed"])
def test_what_was_answered_before_the_kill_is_not_asked_again(
    tmp_path: Path, world: World, store: dict[str, str], held: str
) -> None:
    """The process dies while the second answer of a stage is awaited; the first one is known afterwards."""
    config = settled(tmp_path, world, store)

    def second(what: str) -> bool:
        return what.startswith(held) and (held == "text" or sum(
            count for name, count in world.answered.items() if name.startswith("embed")
        ) == 1)  # fmt: skip

    world.held = second
    with App(Settings.load(config, environ={})) as app, running(config) as processes:
        record_id = add(app, 1)
        wait_until(lambda: world.holding)
        processes.kill()
        world.held = lambda _: False
        processes.start()
        wait_for_all(app, [record_id])
        history = [each.target for each in app.records.history(record_id)]

    assert set(world.answered.values()) == {1}, "each question was answered once"
    assert {"search 1", "text 1"} < set(world.answered)
    assert history[-3:] == ["embedding", "indexed", "completed"]


def asked(config: Path, *args: str) -> Any:  # noqa: ANN401 - what a command answers
    command = ["--config", str(config), "ledger", args[0], str(config.parent / "ledger"), *args[1:]]
    done = CliRunner().invoke(cli, [*command, "--json"])
    assert done.exit_code in (0, 1), done.stderr
    return json.loads(done.stdout)


def mirrored(config: Path) -> list[dict[str, Any]]:
    sql = "SELECT * FROM ledger WHERE source = 'stateward' ORDER BY source_seq"
    rows: list[dict[str, Any]] = asked(config, "query", sql)
    return rows


def compare_with_ledger(app: App, config: Path, late: list[str]) -> None:
    """`stats`, `history`, `stuck` and `query` of the mirror say what the store says."""
    counts = app.records.count(app.records.query("machine:literature"))
    stats = asked(config, "stats")
    log = app.store.log.read(limit=100_000)
    codes = Counter(str(code) for each in log if (code := each.metadata.get("error_code")))
    assert stats["distribution"] == {status: count for (_, status), count in counts.items()}
    assert stats["document_count"] == sum(counts.values())
    assert stats["error_types"] == dict(codes)
    for record in app.records.find(app.records.query("machine:literature"), limit=1000):
        told = [
            (each["old_state"], each["new_state"], each["actor"], round(each["timestamp"] * SECOND))
            for each in asked(config, "history", record.id)
        ]
        assert told == [
            (each.source, each.target, each.actor, each.at)
            for each in app.records.history(record.id)
        ]
    assert {each["doc_id"] for each in asked(config, "stuck", "--older-than", "0s")} == set(late)
    rows = mirrored(config)
    assert [(each["doc_id"], each["new_state"], each["source_seq"]) for each in rows] == [
        (each.record_id, each.target, each.seq) for each in log
    ]


def test_kills_under_load_lose_nothing_and_fetch_nothing_twice(
    tmp_path: Path, world: World, store: dict[str, str]
) -> None:
    config = settled(tmp_path, world, store)
    killed_at: list[int] = []
    with App(Settings.load(config, environ={})) as app, running(config) as processes:
        ids = [add(app, number) for number in range(PAPERS)]
        unknown = [add(app, number) for number in UNKNOWN]
        for step in range(1, KILLS + 1):
            goal = step * 6 * PAPERS // KILLS  # about six answers a paper
            wait_until(lambda goal=goal: world.answered.total() >= goal or all(  # type: ignore[misc]
                app.records.is_at_rest(each) for each in app.store.load(ids).values()
            ))  # fmt: skip
            processes.kill()
            killed_at.append(len(world.order))
            processes.start()
        wait_for_all(app, [*ids, *unknown])
        app.actions.act("retry", unknown[0], actor="person:ann", reason="once more")
        wait_for_all(app, unknown)
        app.actions.pause("literature", "", actor="person:ann", reason="the end")
        late = [add(app, 900), add(app, 901)]
        app.actions.move("document.skipped", [add(app, 902)], actor="person:ann", reason="no")
        wait_until(lambda: len(mirrored(config)) == app.store.log.end())
        compare_with_ledger(app, config, late)

        assert RankedIndex(app.database).count() == PAPERS
        assert app.admin.verify().is_sound
        passages = FullTextIndex(app.database).count()
        assert passages % PAPERS == 0
        vectors = Vectors(app.database)
        rows = vectors.after("literature", -1, limit=10_000)
        pieces = Counter(each.record_id for each in rows)
        assert set(pieces) == set(ids)
        assert len(set(pieces.values())) == 1
        file = VectorFile(Path(app.settings.data) / "search", "literature", vectors)
        assert len(file.near([1.0] * SIZE, limit=10_000).numbers) == len(rows)
        for number, record_id in enumerate(ids):
            hits = app.search.find(f"n{number}", pipeline="literature").hits
            assert [each.record_id for each in hits] == [record_id]
        assert {app.record(each).version for each in ids} == {11}, "each transition once"

    # An answer is asked for again only if the process died before it was stored: one of the last before a kill.
    places = {name: world.order.index(name) for name, count in world.answered.items() if count > 1}
    assert all(any(0 <= kill - 1 - at < ON_THE_WAY for kill in killed_at) for at in places.values())

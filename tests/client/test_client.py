"""The Python client: typed answers, endless lists, and patience that never does a thing twice."""

import ast
import asyncio
import runpy
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from stateward.async_client import AsyncClient
from stateward.client import ApiProblem, Client, ServerUnreachable
from stateward.pipelines.contracts.async_client import AsyncWorkflowClient
from stateward.pipelines.contracts.client import WorkflowClient
from stateward.pipelines.contracts.schemas import Workflow
from tests.server.api_client import STATEMENT, ApiClient, serving, settings_at, statement
from tests.server.contracts import DOUBTFUL, Fail, playing, waiting


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiClient]:
    with serving(settings_at(tmp_path / "data")) as found:
        yield found


@pytest.fixture
def client(api: ApiClient) -> Iterator[Client]:
    with Client(api.url) as found:
        yield found


def test_a_document_goes_from_the_file_to_its_rows(
    api: ApiClient, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "january.csv"
    file.write_bytes(STATEMENT)

    sent = client.submit(
        file, machine="upload", source_type="bank_csv", priority=9, labels={"client": "42"}
    )
    again = client.submit(BytesIO(STATEMENT), machine="upload", source_type="bank_csv")
    api.work()
    ended = client.wait(sent.record.id, timeout_s=20)

    assert (sent.is_duplicate, again.is_duplicate) == (False, True)
    assert again.record.id == sent.record.id
    assert (ended.status, ended.labels["client"], ended.priority) == ("normalized", "42", 9)
    assert ended.labels["filename"] == "january.csv"
    assert ended.exposed["canonicals_count"] == 2
    assert [each["description"] for each in client.items(sent.record.id, kind="canonicals")] == [
        "Coffee",
        "Bread",
    ]
    assert [each.target for each in client.history(sent.record.id)][-1] == "normalized"
    assert client.log(sent.record.id, "parse").attempts[0].outcome == "done"
    assert client.explain(sent.record.id).code == "ended"


def test_lists_are_walked_to_their_end(client: Client) -> None:
    for number in range(5):
        client.submit(statement(number), machine="upload", source_type="bank_csv")

    assert len(list(client.records(source_type=["bank_csv"], limit=2))) == 5
    assert len(list(client.records("machine:upload", limit=2))) == 5
    assert [each.count for each in client.counts()] == [5]
    assert client.errors() == []


def test_a_machine_is_seen_drawn_and_paused(client: Client) -> None:
    assert "upload" in [each.name for each in client.machines()]
    assert client.machine("upload").declaration["initial"] == "queued_for_parse"
    assert client.graph("upload").lstrip().startswith("<svg")
    assert client.pause("upload", stage="parse", reason="mending").was_paused is False
    assert [each.reason for each in client.pauses()] == ["mending"]
    assert client.resume("upload", stage="parse").was_paused is True


def test_a_refusal_is_an_exception_with_the_problem_in_it(client: Client) -> None:
    client.submit(STATEMENT, machine="upload", source_type="bank_csv")

    with pytest.raises(ApiProblem) as duplicate:
        client.submit(STATEMENT, machine="upload", source_type="bank_csv", on_duplicate="refuse")
    with pytest.raises(ApiProblem) as unknown:
        client.record("UL_no/thing")

    assert (duplicate.value.kind, duplicate.value.status) == ("duplicate", 409)
    assert str(duplicate.value.problem.record_id).startswith("UL_")
    assert unknown.value.kind == "not-found"


def test_records_are_moved_one_by_one_and_together(client: Client) -> None:
    ids = [
        client.submit(statement(number), machine="upload", source_type="bank_csv").record.id
        for number in range(3)
    ]

    cancelled = client.cancel(ids[0], reason="by mistake", version=0)
    retried = client.retry(ids[0])
    with pytest.raises(ApiProblem, match="is no longer at version 0"):
        client.cancel(ids[0], version=0)
    foreseen = client.batch("cancel", query="machine:upload", dry_run=True)
    batch = client.batch("cancel", ids=ids)
    while client.get_batch(str(batch.id)).status == "running":
        pass

    assert (cancelled.status, retried.status) == ("error", "queued_for_parse")
    assert (foreseen.status, foreseen.matched) == ("dry_run", 3)
    assert next(client.batches()).applied == 3
    with pytest.raises(ApiProblem, match="nothing to abort"):
        client.abort_batch(str(batch.id))


def test_events_go_on_after_the_service_was_started_anew(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    with serving(settings) as first:
        first.sent(statement(0))
        first.sent(statement(1))
        port = int(first.url.rpartition(":")[2])
        client = Client(first.url)
        events = client.events(after=0)
        assert [next(events).seq for _ in range(2)] == [1, 2]
    with serving(settings_at(tmp_path / "data", port=port)) as second, client:
        second.sent(statement(2))

        assert next(events).seq == 3


def test_a_key_is_shown_but_never_said(api: ApiClient) -> None:
    _, key = api.app.admin.new_key("anna", role="viewer")

    with Client(api.url, key=key) as client:
        assert list(client.records()) == []
        assert key not in repr(client)
    with Client(api.url) as anonymous, pytest.raises(ApiProblem) as refused:
        anonymous.machines()
    assert refused.value.kind == "unauthenticated"


# Patience, against a server that answers as it is told


Answer = tuple[int, dict[str, str], bytes]


class Told(BaseHTTPRequestHandler):
    """Answers with what is next in the list of its server; notes what it was asked."""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked: list[str] = self.server.asked  # type: ignore[attr-defined]
        asked.append(str(self.headers.get("Idempotency-Key")))
        status, headers, body = self.server.answers.pop(0)  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def told() -> Iterator[Callable[[list[Answer]], tuple[str, list[str]]]]:
    servers: list[ThreadingHTTPServer] = []

    def start(answers: list[Answer]) -> tuple[str, list[str]]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Told)
        server.answers, server.asked = list(answers), []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}", server.asked  # type: ignore[attr-defined]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


BUSY = b'{"type":"urn:stateward:problem:unavailable","title":"","status":503,"detail":"not now"}'
RUNNING = b'{"type":"urn:stateward:problem:in-progress","title":"","status":409,"detail":"wait"}'
PROBLEM = {"Content-Type": "application/problem+json"}
PAUSED = b'{"machine":"m","stage":null,"is_paused":true,"was_paused":false}'


def test_a_busy_server_is_asked_again_when_it_says_and_with_the_same_key(
    told: Callable[[list[Answer]], tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("stateward.client.time.sleep", slept.append)
    url, asked = told(
        [
            (503, {**PROBLEM, "Retry-After": "7"}, BUSY),
            (429, {**PROBLEM, "Retry-After": "100000"}, BUSY),
            (409, {**PROBLEM, "Retry-After": "1"}, RUNNING),
            (200, {"Content-Type": "application/json"}, PAUSED),
        ]
    )

    with Client(url) as client:
        paused = client.pause("m")

    assert paused.is_paused
    assert slept == [7.0, 60.0, 1.0]
    assert len(set(asked)) == 1
    assert len(asked) == 4


def test_a_busy_server_is_asked_again_on_asyncio_too(
    told: Callable[[list[Answer]], tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("stateward.async_client.asyncio.sleep", sleep)
    url, asked = told([(503, {**PROBLEM, "Retry-After": "7"}, BUSY), (200, {}, PAUSED)])

    async def use() -> bool:
        async with AsyncClient(url) as client:
            return (await client.pause("m")).is_paused

    assert asyncio.run(use())
    assert slept == [7.0]
    assert (len(asked), len(set(asked))) == (2, 1)


def test_patience_has_an_end(
    told: Callable[[list[Answer]], tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("stateward.client.time.sleep", slept.append)
    url, asked = told([(503, PROBLEM, BUSY)] * 3)

    with Client(url, tries=3) as client, pytest.raises(ApiProblem, match="not now"):
        client.machines()

    assert len(asked) == 3
    assert 0.125 <= slept[0] <= 0.25 <= slept[1] <= 0.5


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ((200, {}, b"<html>a proxy</html>"), ServerUnreachable, "not Stateward's"),
        ((404, {}, b"<html>a proxy</html>"), ApiProblem, "answered 404"),
        ((400, PROBLEM, b"{"), ApiProblem, "answered 400"),
    ],
)
def test_an_answer_of_something_else_is_told_as_that(
    told: Callable[[list[Answer]], tuple[str, list[str]]],
    answer: Answer,
    error: type[Exception],
    words: str,
) -> None:
    url, _ = told([answer])

    with Client(url) as client, pytest.raises(error, match=words):
        client.counts()


def test_a_server_that_is_not_there_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateward.client.time.sleep", lambda _: None)

    with (
        Client("http://127.0.0.1:9", tries=2) as client,
        pytest.raises(ServerUnreachable, match="stateward up"),
    ):
        client.machines()


async def compared(url: str, workflow_id: str) -> Workflow:
    async with AsyncWorkflowClient(url) as client:
        return await client.compare_workflow(workflow_id)


def test_a_contract_is_driven_step_by_step(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    with serving(settings) as api, playing(settings) as player, WorkflowClient(api.url) as client:
        player.script = {"validate": [DOUBTFUL], "extract": [Fail("BUSY"), {}]}

        taken = client.ingest(b"a contract", vertical="energy", name="a.pdf")
        asked = client.extract_workflow(taken.workflow_id)
        (task,) = client.pending_reviews()
        claimed = client.claim_review(task.record_id)
        freed = client.unclaim_review(task.record_id)
        decided = client.review_workflow(taken.workflow_id, "approve", reviewer="Ada")
        ended = asyncio.run(compared(api.url, taken.workflow_id))

    assert (taken.status, taken.vertical, taken.filename) == ("extracting", "energy", "a.pdf")
    assert (asked.needs_review, asked.retry_count) == (True, 1), (
        "a failure that passed was tried again"
    )
    assert claimed.claim is not None
    assert freed.claim is None
    assert (decided.status, ended.status) == ("validated", "completed")


def test_a_review_is_decided_and_a_second_decision_refused(api: ApiClient, client: Client) -> None:
    record = waiting(api.app)

    decided = client.review(record.id, "approve", notes="seen", version=record.version)
    with pytest.raises(ApiProblem) as refused:
        client.review(record.id, "reject", notes="no")

    assert decided.status == "validated"
    assert refused.value.kind == "review-taken"
    detail = client.get_review(record.id)
    assert detail.decision is not None
    assert detail.decision.notes == "seen"


def test_asyncio_has_every_method_with_its_types_and_patience(api: ApiClient) -> None:
    async def use() -> tuple[list[str], str]:
        async with AsyncClient(api.url) as client:
            sent = await asyncio.gather(
                *(client.submit(statement(number), machine="upload") for number in range(3))
            )
            listed = [each.id async for each in client.records(limit=2)]
            with pytest.raises(ApiProblem, match="no record"):
                await client.record("UL_nothing")
            assert (await client.wait(listed[0], timeout_s=0)).id == listed[0]
            lines = [line async for line in client.history_lines()]
            assert len(lines) == 3
            async for event in client.events(after=0):
                assert event.record_id in listed
                break
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await client.wait(listed[0])
            assert {each.record.id for each in sent} == set(listed)
            return listed, repr(client)

    listed, shown = asyncio.run(use())

    assert (len(listed), shown) == (3, f"AsyncClient({api.url!r})")
    made = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "async_stub.py"))
    for stub in made["STUBS"]:
        stored, wanted = (
            ast.dump(ast.parse(each)) for each in (stub.path.read_text(), stub.text())
        )
        assert stored == wanted, "run: python tools/async_stub.py"

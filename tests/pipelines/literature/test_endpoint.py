"""An embedder elsewhere: an endpoint with OpenAI's `/embeddings`, and all that such a server may do."""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stateward.app import App
from stateward.core.errors import DeclarationError, FatalFailure, InvalidRequest, StageFailure
from stateward.pipelines.literature.embedding.endpoint import EmbeddingEndpoint
from stateward.schemas import RereadRequest
from stateward.settings import Settings
from stateward.workers import sdk
from tests.pipelines.literature.articles import SAMPLES

KEY = "sk-nothing-to-see"
SIZE = 16


def meaning(text: str) -> list[float]:
    """A vector that texts with the same words share."""
    found = [0.01] * SIZE
    for word in text.lower().split():
        found[sum(word.encode()) % SIZE] += 1.0
    return found


class Embedder:
    """A server that counts what it is asked; `spoil` changes its answers, `status` refuses."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.keys: list[str | None] = []
        self.statuses: list[int] = []
        self.spoil: Any = lambda answer: answer
        self.url = ""

    def answer(self, body: dict[str, Any]) -> object:
        self.asked.append(body["input"])
        rows = [{"index": n, "embedding": meaning(text)} for n, text in enumerate(body["input"])]
        return self.spoil({"object": "list", "model": body["model"], "data": rows[::-1]})


@pytest.fixture
def embedder() -> Iterator[Embedder]:
    found = Embedder()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.keys.append(self.headers.get("Authorization"))
            status = found.statuses.pop(0) if found.statuses else 200
            if self.path != "/v1/embeddings":
                status = 404
            answer = found.answer(body) if status == 200 else {"error": {"message": f"no, {KEY}"}}
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(OSError):  # the client leaves when it has read enough
                self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield found
    server.shutdown()
    server.server_close()


def endpoint(embedder: Embedder, **given: Any) -> EmbeddingEndpoint:  # noqa: ANN401
    return EmbeddingEndpoint(**{"base_url": embedder.url, "model": "m", "key": KEY, **given})


class Values(dict[str, bytes]):
    """What a job saves."""

    def load(self, name: str) -> bytes | None:
        return self.get(name)

    def save(self, name: str, data: bytes) -> None:
        assert len(data) <= sdk.SAVED_BYTES_MAX
        self[name] = data


def test_texts_get_unit_vectors_in_their_order_whatever_order_they_come_in(
    embedder: Embedder,
) -> None:
    texts = [f"word{n} and others" for n in range(5)]

    found = endpoint(embedder, batch=2).vectors(texts)

    expected = np.array([meaning(text) for text in texts])
    assert np.allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert [len(each) for each in embedder.asked] == [2, 2, 1]
    assert set(embedder.keys) == {f"Bearer {KEY}"}
    assert KEY not in repr(endpoint(embedder))


def test_what_was_answered_is_not_asked_and_paid_for_again(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "stateward.pipelines.literature.embedding.endpoint.SAVED_BYTES_MAX", 100
    )  # so that a batch is saved in several pieces
    asked, saved = endpoint(embedder, batch=2), Values()
    embedder.statuses = [200, 429]
    with pytest.raises(StageFailure, match="429") as busy:
        asked.vectors(["a", "b", "c"], saved)
    assert busy.value.code == "EMBEDDER_BUSY"

    again = asked.vectors(["a", "b", "c"], saved)

    assert embedder.asked == [["a", "b"], ["c"]]
    assert np.array_equal(again, endpoint(embedder, batch=2).vectors(["a", "b", "c"]))


def test_pieces_of_two_answers_are_never_mixed(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that is killed while it saves an answer leaves some pieces of it behind."""
    monkeypatch.setattr(
        "stateward.pipelines.literature.embedding.endpoint.SAVED_BYTES_MAX", SIZE * 4
    )

    class Dying(Values):
        def save(self, name: str, data: bytes) -> None:
            if name.endswith("/1"):
                raise SystemExit("killed")
            super().save(name, data)

    saved = Dying()
    embedder.spoil = lambda answer: {
        **answer, "data": [{**row, "embedding": row["embedding"][::-1]} for row in answer["data"]]
    }  # fmt: skip
    with pytest.raises(SystemExit):
        endpoint(embedder).vectors(["a", "b"], saved)
    embedder.spoil = lambda answer: answer
    again = Values(saved)
    told = endpoint(embedder).vectors(["a", "b"], again)

    assert np.array_equal(endpoint(embedder).vectors(["a", "b"], again), told)
    assert len(embedder.asked) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 302])
def test_a_refusal_is_final_and_tells_no_key(embedder: Embedder, status: int) -> None:
    embedder.statuses = [status]
    with pytest.raises(FatalFailure, match=str(status)) as refused:
        endpoint(embedder).vectors(["a"])
    assert refused.value.code == "EMBEDDER_REFUSED"
    assert KEY not in str(refused.value)


def first_vector_is(value: list[Any]) -> Any:  # noqa: ANN401
    def spoil(answer: dict[str, Any]) -> dict[str, Any]:
        answer["data"][0]["embedding"] = value
        return answer

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"no json",
        lambda _: b'{"data": "\xff"}',
        lambda _: {"data": []},
        lambda answer: {"data": answer["data"] * 2},
        first_vector_is([]),
        first_vector_is([1.0]),
        first_vector_is([0.0] * SIZE),
        first_vector_is(["x"] * SIZE),
        first_vector_is([1e308] * SIZE),
        lambda _: b"[" * 10_000_000,
    ],
    ids=["text", "bytes", "none", "twice", "empty", "short", "zero", "words", "huge", "endless"],
)
def test_an_answer_that_is_none_is_refused(embedder: Embedder, spoil: Any) -> None:  # noqa: ANN401
    embedder.spoil = spoil
    with pytest.raises(FatalFailure) as refused, np.errstate(over="ignore"):
        endpoint(embedder).vectors(["a", "b"])
    assert refused.value.code == "EMBEDDER_ANSWER"


def test_nothing_that_listens_is_a_reason_to_try_again() -> None:
    silent = EmbeddingEndpoint(base_url="http://127.0.0.1:9/v1", model="m")
    with pytest.raises(StageFailure, match="did not answer") as missing:
        silent.vectors(["a"])
    assert not isinstance(missing.value, FatalFailure)


def settled(folder: Path, **embed: object) -> Settings:
    config = folder / "stateward.json"
    config.write_text(json.dumps({"literature": {"embed": embed}}), "utf-8")
    return Settings.load(config, environ={"STATEWARD_DATA": str(folder / "data")})


def test_papers_are_embedded_elsewhere_and_found_by_meaning(
    tmp_path: Path, embedder: Embedder
) -> None:
    settings = settled(tmp_path, base_url=embedder.url, endpoint_model="m", key=KEY)
    with App(settings) as app:
        paper = next(SAMPLES.glob("*.xml"))
        record = app.submit(paper.read_bytes(), machine="literature", name=paper.name).record
        app.actions.pause("literature", "confirm", actor="person:ann", reason="to spoil the index")
        app.run_until_idle()
        assert app.record(record.id).status == "indexed"

        # What no search finds is not completed, and is found once the index is whole again.
        app.database.run("DELETE FROM search_documents")
        app.actions.resume("literature", "confirm", actor="person:a")
        assert app.records.explain(record.id).code == "waiting_for_search"
        app.run_until_idle()
        failed = app.record(record.id)
        assert (failed.status, failed.error_code) == ("failed", "NOT_SEARCHABLE")
        assert "does not find it; make the index anew" in str(failed.error_message)
        list(app.indexer.clear())
        app.run_until_idle()
        app.database.run("UPDATE search_vectors SET vector = 'AAAA'")  # a row, but of no paper
        assert "vectors by" in app.search_confirmation.probe(failed).missing
        app.actions.act("retry", record.id, actor="person:ann", reason="the index is whole")
        app.run_until_idle()

        last = app.records.history(record.id)[-1]
        assert (last.source, last.target) == ("indexed", "completed")
        assert last.metadata["found_by"] == ["words", "vectors"]
        assert app.admin.verify().is_sound
        again = app.editions.reread(record.id, RereadRequest(), actor="person:ann")
        assert (again.stage, again.is_changed) == ("embed", False), (
            "the engine's stage has no runner"
        )
        found = app.search.find("water", pipeline="literature", is_hybrid=True)
        assert [each.record_id for each in found.hits] == [record.id]
        embedder.statuses = [503]
        with pytest.raises(InvalidRequest, match="search by words meanwhile"):
            app.search.find("water", pipeline="literature", is_hybrid=True)


@pytest.mark.parametrize(
    ("embed", "said"),
    [
        ({"base_url": "https://host/v1"}, "endpoint_model"),
        ({"base_url": "host", "endpoint_model": "m"}, "base_url"),
        ({"base_url": "https://h/v1", "endpoint_model": "m", "model": "folder"}, "only one"),
    ],
)
def test_an_endpoint_is_named_whole_and_alone(
    tmp_path: Path, embed: dict[str, object], said: str
) -> None:
    with pytest.raises(DeclarationError, match=said):
        settled(tmp_path, **embed)


def test_a_paper_whose_rarest_stems_are_those_of_frequent_words_is_confirmed(
    tmp_path: Path, embedder: Embedder
) -> None:
    shared = "Mills at the weir.\n\nStones of mills are ground. Wheat has been milled, and rye was."
    texts = (f"{shared} In AR, HA and WA there is no weir.", f"{shared}\n\nNo weir is here.")
    settings = settled(tmp_path, base_url=embedder.url, endpoint_model="m", key=KEY)
    with App(settings) as app:
        first, second = (
            app.submit(text.encode(), machine="literature", name="mills.txt").record
            for text in texts
        )
        app.run_until_idle()

        ended = [app.record(each.id) for each in (first, second)]
        assert [(each.status, each.error_message) for each in ended] == [("completed", None)] * 2

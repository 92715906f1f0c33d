"""The stage `embed`: pieces of a paper, section by section, each as a vector."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields, Json
from stateward.extras import missing_extra
from stateward.pipelines.literature.embedding.endpoint import EmbeddingEndpoint
from stateward.pipelines.literature.finding import block_text, metadata_of
from stateward.workers.sdk import Job, Outcome

if TYPE_CHECKING:
    from stateward.pipelines.literature.embedding.model import Floats, SentenceModel

WORDS = 170  # of a piece: with its title about as many tokens as a model takes
OVERLAP = 30  # words of the piece before it
PIECES_MAX = 5000
_HEADINGS = frozenset({"title", "heading"})


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of text: `item` is the number of the block that it begins in, `text` what is embedded."""

    item: int
    section: tuple[str, ...]
    text: str


class EmbeddedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece as it is stored: its vector as eight-bit numbers (base64)."""

    number: int
    item: int
    section: tuple[str, ...]
    vector: str


@lru_cache(maxsize=2)
def load_model(folder: str) -> "SentenceModel":
    """The model of a folder, read once a process."""
    try:
        from stateward.pipelines.literature.embedding.model import SentenceModel
    except ImportError as error:
        raise missing_extra(error) or error from None
    return SentenceModel(Path(folder))


def embed(job: Job) -> Outcome:
    """The vectors of a paper, by the model of this machine or by an endpoint."""
    about = job.about("build_ir")
    made = pieces(metadata_of(about).title, job.items("build_ir"))
    texts = [each.text for each in made]
    endpoint = job.options.get("embed_endpoint")
    model: SentenceModel | EmbeddingEndpoint
    if endpoint is not None:
        model = msgspec.convert(endpoint, EmbeddingEndpoint)
        vectors = model.vectors(texts, job)
    else:
        model = load_model(_model_of(job.options))
        vectors = model.vectors(texts)
    items = [
        EmbeddedPiece(
            number=number, item=each.item, section=each.section, vector=pack_vector(vector)
        )
        for number, (each, vector) in enumerate(zip(made, vectors, strict=True))
    ]
    job.log(f"embedded {len(items)} pieces", model=model.name)
    return Outcome(
        facts={"vectors": len(items), "embedder": model.name},
        items=items,
        about={"model": model.name, "dimensions": vectors.shape[1], "of": about["sha256"]},
    )


def _model_of(options: Mapping[str, Json]) -> str:
    folder = options.get("embed_model")
    if not isinstance(folder, str):
        raise FatalFailure("literature.embed names no model and no endpoint", code="NO_EMBEDDER")
    return folder


def pack_vector(vector: "Floats") -> str:
    """A vector as eight-bit numbers, the largest of which is 127."""
    import numpy as np

    scaled = vector / (np.abs(vector).max() or 1) * 127
    return b64encode(np.round(scaled).astype(np.int8).tobytes()).decode()


def pieces(title: str, blocks: Iterable[Fields]) -> list[Piece]:
    """A paper in pieces of bounded size that do not cross a section and overlap a little; at least its title."""
    found: list[Piece] = []
    numbered = [
        (number, block)
        for number, block in enumerate(blocks)
        if block["kind"] not in _HEADINGS and block_text(block)
    ]
    for section, group in groupby(numbered, key=lambda pair: _section(pair[1])):
        head = ". ".join(filter(None, (title, section[-1] if section else "")))
        for item, words in _cut([(number, block_text(block).split()) for number, block in group]):
            found.append(Piece(item=item, section=section, text=f"{head}. {' '.join(words)}"))
    return found[:PIECES_MAX] or [Piece(item=0, section=(), text=title)]


def _section(block: Fields) -> tuple[str, ...]:
    told = block.get("section")
    return tuple(map(str, told)) if isinstance(told, list) else ()


def _cut(texts: Sequence[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Words of blocks in pieces, each with the number of the block that its first word is of."""
    words = [(number, word) for number, text in texts for word in text]
    start = 0
    while start < len(words):
        end = min(start + WORDS, len(words))
        if (
            len(words) - end < OVERLAP
        ):  # a rest that is hardly longer than the overlap is no piece of its own
            end = len(words)
        yield words[start][0], [word for _, word in words[start:end]]
        if end == len(words):
            return
        start = end - OVERLAP

"""Vectors from an endpoint with OpenAI's `/v1/embeddings`, as many vendors and local servers have it.

Nothing is retried here: a busy or silent endpoint fails the attempt, and the record is tried again as its machine says.
What was answered is saved before it is used, so that the next attempt asks and pays only for the rest. The call itself
is that of `kit.model_api`.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

import msgspec

from stateward.core.errors import FatalFailure, StageFailure
from stateward.http_client import HttpReply
from stateward.pipelines.kit.model_api import (
    OK,
    TRANSIENT,
    AnswerTooLarge,
    ModelApi,
    NoAnswer,
    UntrustedCertificate,
    call,
)
from stateward.workers.sdk import SAVED_BYTES_MAX

if TYPE_CHECKING:
    from stateward.pipelines.literature.embedding.model import Floats

PATH = "/embeddings"
BYTES_PER_VECTOR = 256 * 1024  # 4,096 numbers as text, and as much again for other fields
EMBEDDER_REFUSED, EMBEDDER_BUSY = "EMBEDDER_REFUSED", "EMBEDDER_BUSY"
EMBEDDER_ANSWER = "EMBEDDER_ANSWER"
MEANINGS = {
    401: "it does not accept the key; see literature.embed.key",
    403: "the key may not use this model; see literature.embed.key",
    404: "there is no such address or model; see literature.embed.base_url and endpoint_model",
    413: "the request is too large; see literature.embed.batch",
}


class Saved(Protocol):
    """Where answers are kept between the attempts at a record."""

    def load(self, name: str) -> bytes | None:
        """What was saved under a name."""

    def save(self, name: str, data: bytes) -> None:
        """Save a value durably."""


class EmbeddingEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint and how it is asked. Its repr does not contain the key."""

    base_url: str
    model: str
    key: str = ""
    batch: int = 64
    timeout_s: float = 60.0
    ca_file: str | None = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"EmbeddingEndpoint(base_url={self.base_url!r}, model={self.model!r})"

    @property
    def name(self) -> str:
        """What vectors are known by: those of two models are never compared."""
        return f"endpoint:{self.model}"

    def vectors(self, texts: Sequence[str], saved: Saved | None = None) -> "Floats":
        """A vector of length 1 for each text, all of the same size."""
        import numpy as np

        batches = [
            self._batch(texts[start : start + self.batch], saved)
            for start in range(0, len(texts), self.batch)
        ]
        sizes = {batch.shape[1] for batch in batches}
        if len(sizes) > 1:
            raise _unusable(f"vectors of different sizes: {sorted(sizes)}")
        found: Floats = np.concatenate(batches)
        return found

    def _batch(self, texts: Sequence[str], saved: Saved | None) -> "Floats":
        body = msgspec.json.encode(
            {"model": self.model, "input": list(texts), "encoding_format": "float"}
        )
        name = f"vectors/{sha256(self.base_url.encode() + body).hexdigest()}"
        known = _load(saved, name) if saved is not None else None
        if known is not None:
            return known
        found = _vectors(self._ask(body, len(texts)), len(texts))
        if saved is not None:
            _save(saved, name, found)
        return found

    @property
    def _api(self) -> ModelApi:
        return ModelApi(
            base_url=self.base_url,
            key=self.key,
            timeout_s=self.timeout_s,
            ca_file=self.ca_file or "",
        )

    def _ask(self, body: bytes, count: int) -> bytes:
        try:
            reply = call(self._api, PATH, body, answer_bytes_max=count * BYTES_PER_VECTOR)
        except UntrustedCertificate as error:
            said = f"the certificate of {self.base_url} is not trusted: {error}"
            raise FatalFailure(
                f"{said}; see literature.embed.ca_file", code=EMBEDDER_REFUSED
            ) from None
        except NoAnswer as error:
            said = f"the embedder at {self.base_url} did not answer: {error}"
            raise StageFailure(said, code=EMBEDDER_BUSY) from None
        except AnswerTooLarge:
            raise _unusable("more bytes than its vectors can have") from None
        self._check(reply)
        return reply.body

    def _check(self, reply: HttpReply) -> None:
        if reply.status in TRANSIENT:
            said = f"the embedder at {self.base_url} answered {reply.status}"
            raise StageFailure(said, code=EMBEDDER_BUSY)
        if reply.status != OK:
            meaning = MEANINGS.get(reply.status, "it refused the request")
            said = f"the embedder at {self.base_url} answered {reply.status}: {meaning}"
            raise FatalFailure(said, code=EMBEDDER_REFUSED)


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Row]


def _vectors(body: bytes, count: int) -> "Floats":
    """The vectors in the order of the texts, whatever order they came in, each of length 1."""
    import numpy as np

    try:
        data = msgspec.json.decode(body, type=_Answer).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unusable(f"what is no answer to a request for vectors: {error}") from None
    if sorted(each.index for each in data) != list(range(count)):
        raise _unusable(f"{len(data)} vectors for {count} texts")
    rows = [each.embedding for each in sorted(data, key=lambda row: row.index)]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise _unusable("vectors of different sizes, or empty ones")
    found = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _unusable("a vector without a direction")
    unit: Floats = found / lengths
    return unit


class _SavedVectors(msgspec.Struct, frozen=True, kw_only=True):
    """What is saved last, and says that all pieces are there; they are named by the whole answer.

    An attempt that was killed between two pieces may have had another answer to the same question.
    """

    rows: int
    size: int
    sha256: str

    def piece(self, name: str, number: int) -> str:
        return f"{name}/{self.sha256[:32]}/{number}"


def _save(saved: Saved, name: str, vectors: "Floats") -> None:
    """In pieces that are small enough."""
    data = vectors.astype("<f4").tobytes()
    rows, size = vectors.shape
    told = _SavedVectors(rows=rows, size=size, sha256=sha256(data).hexdigest())
    for number, start in enumerate(range(0, len(data), SAVED_BYTES_MAX)):
        saved.save(told.piece(name, number), data[start : start + SAVED_BYTES_MAX])
    saved.save(name, msgspec.json.encode(told))


def _load(saved: Saved, name: str) -> "Floats | None":
    import numpy as np

    found = saved.load(name)
    if found is None:
        return None
    told = msgspec.json.decode(found, type=_SavedVectors)
    pieces = -(-told.rows * told.size * 4 // SAVED_BYTES_MAX)
    data = b"".join(saved.load(told.piece(name, number)) or b"" for number in range(pieces))
    if sha256(data).hexdigest() != told.sha256:
        raise _unusable("vectors that were saved and are damaged")
    vectors: Floats = np.frombuffer(data, dtype="<f4").reshape(told.rows, told.size)
    return vectors


def _unusable(what: str) -> FatalFailure:
    return FatalFailure(f"the embedder answered with {what}", code=EMBEDDER_ANSWER)

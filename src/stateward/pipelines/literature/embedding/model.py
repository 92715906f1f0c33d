"""A sentence model of the MiniLM kind in NumPy: BERT layers, the mean of their output, and a vector of length 1.

The weights are eight-bit numbers with one factor for each row of a matrix, a quarter of their size; they are read once
and held as 32-bit numbers. Texts of about the same length are computed together. The result of a text does not depend
on which others it is computed with, up to rounding in the last digits.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from stateward.core.errors import InvalidRequest
from stateward.pipelines.literature.embedding.wordpiece import WordPiece

Floats: TypeAlias = npt.NDArray[np.float32]

FORMAT = 1
CONFIG, WEIGHTS, VOCABULARY = "model.json", "weights.npz", "vocab.txt"
BATCH_TOKENS = 512  # of texts that are computed together; more does not fit into the caches
_SMALL = np.float32(1e-12)
_ERF = tuple(
    map(np.float32, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429, 0.3275911))
)


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder with a model says about it. `sha256` is that of the file that its weights were taken from."""

    name: str
    sha256: str
    layers: int
    heads: int
    dimensions: int
    tokens_max: int = 256
    format: int = FORMAT


class SentenceModel:
    """A model that was read from its folder."""

    def __init__(self, folder: Path) -> None:
        try:
            self.config = msgspec.json.decode((folder / CONFIG).read_bytes(), type=ModelConfig)
            vocabulary = (folder / VOCABULARY).read_text("utf-8").splitlines()
        except (OSError, msgspec.MsgspecError, UnicodeError) as error:
            raise InvalidRequest(f"there is no model at {folder}: {error}") from None
        if self.config.format != FORMAT:
            raise InvalidRequest(f"the model at {folder} was converted by another version")
        self._tokens = WordPiece(vocabulary)
        with np.load(folder / WEIGHTS, allow_pickle=False) as stored:
            weights = {name: _restore(stored, name) for name in stored.files if _is_whole(name)}
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._begin = _norm_of(weights, "embeddings.LayerNorm")
        self._layers = [_Layer(weights, number, self.config.heads) for number in range(self.config.layers)]  # fmt: skip

    @property
    def name(self) -> str:
        """What vectors of this model are known by; those of different names cannot be compared."""
        return f"{self.config.name}@{self.config.sha256[:12]}"

    def vectors(self, texts: Sequence[str]) -> Floats:
        """A vector of length 1 for each text; what is longer than `tokens_max` is cut."""
        tokens = [self._tokens.numbers(text, limit=self.config.tokens_max) for text in texts]
        found = np.zeros((len(texts), self.config.dimensions), np.float32)
        for numbers in _batches([len(each) for each in tokens]):
            found[numbers] = self._forward([tokens[number] for number in numbers])
        return found

    def _forward(self, batch: Sequence[Sequence[int]]) -> Floats:
        width = max(map(len, batch))
        ids = np.zeros((len(batch), width), np.int64)
        mask = np.zeros((len(batch), width), np.float32)
        for row, numbers in enumerate(batch):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        state = _normalize(self._words[ids] + self._places[:width], *self._begin)
        hidden = (1 - mask)[:, None, None, :] * np.float32(-1e9)
        for layer in self._layers:
            state = layer(state, hidden)
        mean = (state * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        unit: Floats = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return unit


class _Layer:
    """Attention, and two dense steps."""

    def __init__(self, weights: Mapping[str, Floats], number: int, heads: int) -> None:
        at = f"encoder.layer.{number}."
        own = [f"{at}attention.self.{name}" for name in ("query", "key", "value")]
        self._heads = heads
        self._in = np.concatenate([weights[f"{each}.weight"] for each in own]).T.copy()
        self._in_bias = np.concatenate([weights[f"{each}.bias"] for each in own])
        self._out = _dense_of(weights, f"{at}attention.output.dense")
        self._out_norm = _norm_of(weights, f"{at}attention.output.LayerNorm")
        self._wide = _dense_of(weights, f"{at}intermediate.dense")
        self._narrow = _dense_of(weights, f"{at}output.dense")
        self._norm = _norm_of(weights, f"{at}output.LayerNorm")

    def __call__(self, state: Floats, hidden: Floats) -> Floats:
        rows, width, size = state.shape
        flat = state.reshape(rows * width, size)
        parts = flat @ self._in + self._in_bias
        parts = parts.reshape(rows, width, 3, self._heads, size // self._heads)
        query, key, value = parts.transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32((size // self._heads) ** 0.5)
        scores += hidden
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(rows * width, size)
        flat = _normalize(flat + seen @ self._out[0] + self._out[1], *self._out_norm)
        wide = _gelu(flat @ self._wide[0] + self._wide[1])
        flat = _normalize(flat + wide @ self._narrow[0] + self._narrow[1], *self._norm)
        return flat.reshape(rows, width, size)


def _dense_of(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return weights[f"{name}.weight"].T.copy(), weights[f"{name}.bias"]


def _norm_of(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _normalize(state: Floats, weight: Floats, bias: Floats) -> Floats:
    centred = state - state.mean(-1, keepdims=True)
    spread = np.einsum("...i,...i->...", centred, centred)[..., None] / np.float32(state.shape[-1])
    normal: Floats = centred / np.sqrt(spread + _SMALL) * weight + bias
    return normal


def _gelu(state: Floats) -> Floats:
    """x/2 * (1 + erf(x/sqrt 2)), with the error function of Abramowitz and Stegun, 7.1.26."""
    size = np.abs(state) * np.float32(0.70710678)
    part = 1 / (1 + _ERF[5] * size)
    series = (
        (((_ERF[4] * part + _ERF[3]) * part + _ERF[2]) * part + _ERF[1]) * part + _ERF[0]
    ) * part
    erf = np.copysign(1 - series * np.exp(-size * size), state)
    whole: Floats = state * np.float32(0.5) * (1 + erf)
    return whole


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of texts that are computed together: of about one length, and not too many."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda each: (lengths[each], each)):
        if batch and (len(batch) + 1) * lengths[number] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


# Weights as eight-bit numbers


def quantize(name: str, weights: Floats) -> dict[str, npt.NDArray[Any]]:
    """A matrix as eight-bit numbers with a factor for each row; vectors stay as they are."""
    if weights.ndim < 2:
        return {name: weights}
    factors = np.abs(weights).max(1, keepdims=True) / 127
    factors[factors == 0] = 1
    return {
        name: np.round(weights / factors).astype(np.int8),
        f"{name}:factors": factors.astype(np.float32),
    }


def _is_whole(name: str) -> bool:
    return not name.endswith(":factors")


def _restore(stored: Any, name: str) -> Floats:  # noqa: ANN401 - NumPy's reader has no type
    factors = f"{name}:factors"
    values: Floats = stored[name].astype(np.float32)
    return values * stored[factors] if factors in stored.files else values

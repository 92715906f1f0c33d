"""Items become chunks of JSON: each is checked, cleaned and counted against the limits before it is stored."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import (
    Any,
    NoReturn,
)

import msgspec

from stateward.core.errors import (
    FatalFailure,
)
from stateward.workers.failures import describe
from stateward.workers.items import ItemType
from stateward.workers.json_values import NUL_ESCAPED, encode_item, json_fault, kind_of
from stateward.workers.results import CHUNK_BYTES_MAX, CHUNK_ITEMS_MAX, Chunk, Chunks, Limits


class ItemCollector:
    """Puts items into chunks, each one checked and counted against the limits before it is stored."""

    def __init__(
        self, limits: Limits, kind: ItemType[Any] | None, *, folder: Callable[[], Path]
    ) -> None:
        self.count = 0
        self.cleaned = 0
        self._limits = limits
        self._kind = kind
        self._bytes = 0
        self._chunks = Chunks(folder)
        self._open: list[bytes] = []
        self._open_bytes = 0

    def add(self, item: object) -> None:
        self.count += 1
        if self.count > self._limits.items_max:
            refuse_beyond(self._limits, "TOO_MANY_ITEMS", "more than", "items_max", "items")
        data = self._encode(item)
        if len(data) > self._limits.item_bytes_max:
            refuse_beyond(
                self._limits,
                "ITEM_TOO_LARGE",
                f"item {self.count} has more than",
                "item_bytes_max",
                "bytes",
            )
        self._bytes += len(data) + 1
        if self._bytes > self._limits.items_bytes_max:
            self._refuse_bytes()
        self._put(data)

    def add_batch(self, items: Sequence[msgspec.Struct]) -> None:
        """Add many items as one chunk; one by one if that would be too large, or holds text to be cleaned."""
        try:
            data = msgspec.json.encode(items)
        except UnicodeEncodeError:  # a lone surrogate: treated as a NUL is
            data = NUL_ESCAPED
        if len(items) > CHUNK_ITEMS_MAX or len(data) > CHUNK_BYTES_MAX or NUL_ESCAPED in data:
            for item in items:
                self.add(msgspec.to_builtins(item))
            return
        self._item_type()  # refuses items of a stage that declares none
        # Items keep their order: those before the batch are in the chunk before it.
        self._close_chunk()
        self.count += len(items)
        if self.count > self._limits.items_max:
            refuse_beyond(self._limits, "TOO_MANY_ITEMS", "more than", "items_max", "items")
        self._bytes += len(data)
        if self._bytes > self._limits.items_bytes_max:
            self._refuse_bytes()
        if items:
            self._chunks.append(len(items), data)

    def chunks(self, *, about: bytes) -> Sequence[Chunk]:
        self._close_chunk()
        if about:
            self._chunks.append(0, about)
        return self._chunks.settled()

    def _encode(self, item: object) -> bytes:
        try:
            plain = self._item_type().to_plain(item)
        except (TypeError, ValueError) as error:
            why = f"item {self.count} is not {self._item_type().name}: {error}"
            raise FatalFailure(why, code="BAD_ITEM") from error
        fault = json_fault(plain) if isinstance(plain, dict) else f" is {kind_of(item)}, not a dict"
        if fault:
            raise FatalFailure(f"item {self.count}{fault}", code="BAD_ITEM")
        try:
            data, was_cleaned = encode_item(plain)
        except (TypeError, ValueError, RecursionError) as error:
            why = f"item {self.count} cannot be written as JSON: {describe(error)}"
            raise FatalFailure(why, code="BAD_ITEM") from error
        self.cleaned += was_cleaned
        return data

    def _refuse_bytes(self) -> NoReturn:
        refuse_beyond(
            self._limits, "OUTPUT_TOO_LARGE", "all items have more than", "items_bytes_max", "bytes"
        )

    def _item_type(self) -> ItemType[Any]:
        if self._kind is None:
            raise FatalFailure(
                "the stage gave an item, but its annotation says that it has none; "
                "annotate it with -> Iterator[...] or -> Outcome[...]",
                code="BAD_ITEM",
            )
        return self._kind

    def _put(self, data: bytes) -> None:
        is_full = self._open_bytes + len(data) + 2 > CHUNK_BYTES_MAX  # with both brackets
        if is_full or len(self._open) >= CHUNK_ITEMS_MAX:
            self._close_chunk()
        self._open.append(data)
        self._open_bytes += len(data) + 1

    def _close_chunk(self) -> None:
        if self._open:
            self._chunks.append(len(self._open), b"[" + b",".join(self._open) + b"]")
            self._open, self._open_bytes = [], 0


def refuse_beyond(limits: Limits, code: str, what: str, limit: str, unit: str) -> NoReturn:
    """Fail an attempt that went beyond one of its limits; the message names the setting."""
    raise FatalFailure(
        f"{what} {getattr(limits, limit)} {unit}; produce less, or raise the setting worker.{limit}",
        code=code,
    )

"""Typed items: how items of a declared type are checked, written as JSON and read back.

An item type is a `msgspec.Struct`, a dataclass, a `TypedDict`, a pydantic model (where pydantic is installed; it is
recognised by its methods and never imported here), or a union of those that msgspec can tell apart. Items without a
type are dicts.
"""

import types
import typing
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

import msgspec

from stateward.core.model import Fields

T = TypeVar("T")
TYPES_CACHED_MAX = 256


class Model(Protocol):
    """What is used of a pydantic model."""

    def model_dump_json(self) -> str: ...

    @classmethod
    def model_validate_json(cls, json_data: str | bytes) -> object: ...


class ItemType(Generic[T]):
    """One type of items. `kind` None is the type of items that are plain dicts."""

    def __init__(self, kind: type[T] | None) -> None:
        """Raises TypeError for a type that JSON objects cannot be read as."""
        self.kind = kind
        self.name = "a dict" if kind is None else getattr(kind, "__name__", str(kind))
        self._is_model = _is_model(kind)
        self._decoder: msgspec.json.Decoder[list[T]] | None = None
        if kind is not None and not self._is_model:
            if not all(_is_object_type(each) for each in union_members(kind)):
                raise TypeError(
                    f"an item type is a Struct, dataclass, TypedDict or pydantic model, not {self.name}"
                )
            self._decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]

    def to_plain(self, item: object) -> object:
        """The item as plain JSON values; raises ValueError or TypeError if it is not of this type.

        An instance is checked like a dict: nothing stops code from putting text into a field of type int.
        """
        if self.kind is None:
            return item if isinstance(item, dict) or not is_item(item) else _plain(item)
        if self._is_model:
            data = item.model_dump_json() if _is_model(item) else msgspec.json.encode(item)
            self.kind.model_validate_json(data)  # type: ignore[attr-defined]
            return msgspec.json.decode(data)
        plain = _plain(item)
        msgspec.convert(plain, self.kind, str_keys=True)
        return plain

    def decode(self, chunk: str | bytes) -> list[T]:
        """The items of one chunk (a JSON array); raises ValueError if one is not of this type."""
        if self._decoder is not None:
            return self._decoder.decode(chunk)
        if self.kind is None:
            return msgspec.json.decode(chunk)  # type: ignore[no-any-return]
        validate = self.kind.model_validate_json  # type: ignore[attr-defined]
        return [validate(bytes(raw)) for raw in msgspec.json.decode(chunk, type=list[msgspec.Raw])]

    def accepts(self, other: "ItemType[Any]") -> bool:
        """Whether items of another type may be given to code that takes this one."""
        if self is other or other is PLAIN:  # dicts are checked when they are read
            return True
        pairs = union_members(other.kind), union_members(self.kind)
        return all(any(_is_subtype(each, kind) for kind in pairs[1]) for each in pairs[0])


@lru_cache(maxsize=TYPES_CACHED_MAX)
def item_type(kind: type[T] | None) -> ItemType[T]:
    """The item type of a kind; made once, because a decoder is costly to make."""
    return ItemType(kind)


def is_item(value: object) -> bool:
    """Whether a value is one item by itself: a dict, or an instance of an item type."""
    return (
        isinstance(value, (dict, msgspec.Struct))
        or hasattr(type(value), "__dataclass_fields__")
        or _is_model(value)
    )


def union_members(kind: object) -> tuple[Any, ...]:
    """The types that a union is made of; any other type by itself."""
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return typing.get_args(kind) if is_union else (kind,)


def _plain(item: object) -> object:
    if _is_model(item):
        return msgspec.json.decode(item.model_dump_json())
    return msgspec.to_builtins(item, str_keys=True)


def _is_model(value: object) -> TypeGuard[Model]:
    return hasattr(value, "model_validate_json") and hasattr(value, "model_dump_json")


def _is_object_type(kind: object) -> bool:
    """Whether JSON writes values of a type as objects."""
    origin = typing.get_origin(kind) or kind
    return isinstance(origin, type) and (
        issubclass(origin, msgspec.Struct)
        or hasattr(origin, "__dataclass_fields__")
        or typing.is_typeddict(origin)
    )


def _is_subtype(kind: object, other: object) -> bool:
    # issubclass() does not answer for a TypedDict.
    return kind == other or (isinstance(kind, type) and other in kind.__mro__)


PLAIN: ItemType[Fields] = item_type(None)

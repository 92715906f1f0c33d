"""What the function of a stage says by its signature: which items it takes, and which it produces.

    def count(job: Job, words: Iterable[Word]) -> Count: ...

takes items of type `Word` and produces items of type `Count`. Functions without annotations take and give dicts.
"""

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, NamedTuple

from stateward.workers.items import PLAIN, ItemType, item_type, union_members
from stateward.workers.results import Batch, Outcome
from stateward.workers.sdk import Job

LISTS = (list, collections.abc.Sequence, collections.abc.Collection)


class StageSignature(NamedTuple):
    """`produces` None: no items. `parameter` None: it takes the job alone. `takes` None: items of whatever type."""

    produces: ItemType[Any] | None
    parameter: str | None = None
    takes: ItemType[Any] | None = None
    as_list: bool = False


def read_signature(function: Callable[..., object], names: Mapping[str, object]) -> StageSignature:
    """The signature of a stage's function; raises TypeError with a sentence about what cannot be used of it.

    `names` are those of the scope that the function is defined in, so that annotations may name local classes.
    """
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            "a stage is a plain function; call asyncio.run() in it instead of `async def`"
        )
    hints = _type_hints(function, names)
    produces = _returned_type(hints["return"]) if "return" in hints else PLAIN
    parameters = [*inspect.signature(function).parameters.values()]
    needed = [each.name for each in parameters[1:] if each.default is each.empty]
    if not parameters or len(needed) > 1:
        raise TypeError("a stage takes the job, and as a second argument the items before it")
    if not needed:
        return StageSignature(produces)
    annotation = hints.get(needed[0], Iterable[Any])
    if not _is_many(annotation):
        raise TypeError(f"annotate {needed[0]!r} as Iterable[...]: it is given many items")
    kind = next(iter(typing.get_args(annotation)), Any)
    takes = None if kind in (Any, object) else _annotated_type(kind)
    origin = typing.get_origin(annotation) or annotation
    return StageSignature(produces, needed[0], takes, as_list=origin in LISTS)


def _type_hints(function: Callable[..., object], names: Mapping[str, object]) -> dict[str, Any]:
    # Names that linters like to move under `if TYPE_CHECKING` are known here in any case.
    common = {name: getattr(collections.abc, name) for name in collections.abc.__all__}
    own = {**common, "Job": Job, "Outcome": Outcome, **getattr(function, "__globals__", {})}
    try:
        return typing.get_type_hints(function, own, dict(names))
    except NameError as error:
        raise TypeError(
            f"its annotations cannot be read ({error}); import the name outside `if TYPE_CHECKING`"
        ) from None


def _returned_type(annotation: object) -> ItemType[Any] | None:
    kinds = [kind for kind in dict.fromkeys(_item_kinds(annotation)) if kind is not Batch]
    if any(kind in (Any, object) for kind in kinds):
        return PLAIN
    return _annotated_type(typing.Union[tuple(kinds)]) if kinds else None  # noqa: UP007 - made at run time


def _item_kinds(annotation: object) -> Iterator[Any]:
    """The types of items that a return annotation names: A and B for `Iterator[A] | Outcome[B] | None`."""
    for each in union_members(annotation):
        origin = typing.get_origin(each) or each
        if each in (None, NoneType) or each is Outcome:
            continue
        if origin is Outcome or _is_many(each):
            yield from union_members(next(iter(typing.get_args(each)), Any))
        else:
            yield each


def _annotated_type(annotation: Any) -> ItemType[Any]:  # noqa: ANN401 - whatever the author wrote
    origin = typing.get_origin(annotation) or annotation
    is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
    return PLAIN if is_mapping else item_type(annotation)


def _is_many(annotation: object) -> bool:
    """Whether an annotation is that of a collection or an iterator of items."""
    origin = typing.get_origin(annotation) or annotation
    return (
        isinstance(origin, type)
        and origin.__module__ in ("builtins", "collections", "collections.abc", "typing")
        and issubclass(origin, Iterable)
        and not issubclass(origin, str | bytes | Mapping)
    )

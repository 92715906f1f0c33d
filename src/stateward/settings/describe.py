"""Every setting with its type, default and description, for the reference page and `stateward settings`."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import inspect as kinds

from stateward.definition import yaml_source
from stateward.definition.section import fields


class SettingDescription(NamedTuple):
    """One line of the reference page."""

    path: str
    type: str
    default: str
    description: str


def describe(type_: type[msgspec.Struct], prefix: str = "") -> Iterator[SettingDescription]:
    """Every key below a section, in the order of the declaration."""
    for field in fields(type_):
        gathered_keys = yaml_source.key_form(field.type)
        path = prefix + (gathered_keys or field.name)
        schema = field.type.extra_json_schema if isinstance(field.type, kinds.Metadata) else None
        if (description := (schema or {}).get("description")) is not None:
            kind = field.type
            match kind:
                case kinds.Metadata(type=kinds.DictType() as mapping) if gathered_keys:
                    kind = mapping.value_type
            yield SettingDescription(
                path, yaml_source.describe_type(kind), _default(field), description
            )
        for inner, is_listed in _sections_in(field.type):
            yield from describe(inner, f"{path}[]." if is_listed else f"{path}.")


def _default(field: kinds.Field) -> str:
    if field.required:
        return "required"
    if yaml_source.key_form(field.type) is not None:
        return "not set"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return msgspec.json.encode(default).decode()


def _sections_in(kind: kinds.Type) -> Iterator[tuple[type[msgspec.Struct], bool]]:
    """The sections that a field leads to, and whether they stand in a list."""
    match kind:
        case kinds.StructType():
            yield kind.cls, False
        case kinds.Metadata():
            yield from _sections_in(kind.type)
        case kinds.DictType():
            yield from _sections_in(kind.value_type)
        case kinds.VarTupleType():
            yield from ((section, True) for section, _ in _sections_in(kind.item_type))
        case kinds.UnionType():
            for each in kind.types:
                yield from _sections_in(each)

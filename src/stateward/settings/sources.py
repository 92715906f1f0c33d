"""Where settings come from: a profile, a file, environment variables. Each becomes a layer, a `Document`.

Together with `load` this is the only code that reads settings files and environment variables. It must never fill in
what it cannot read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec import inspect as kinds

from stateward.core.errors import DeclarationError, Fault
from stateward.core.failpoints import CrashAt
from stateward.definition import plain_values, yaml_source
from stateward.definition.compiled import document_file
from stateward.definition.plain_values import Document
from stateward.definition.plugin import Plugin
from stateward.definition.section import Section, extra_of, fields

# A settings file has some hundred lines; whatever is larger was given by mistake and is not read into memory.
FILE_BYTES_MAX = 4_000_000
CRASH_AT = "STATEWARD_CRASH_AT"

ProfileName: TypeAlias = Literal["personal", "business", "enterprise"]
PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)


def profile_layers(name: ProfileName, plugins: Iterable[Plugin]) -> list[Document]:
    """A profile, from the file that ships and from those of the plug-ins, each for its own machines."""
    folders = [("stateward.settings", "profiles")]
    folders += [(plugin.package, plugin.profiles) for plugin in plugins if plugin.profiles]
    layers = []
    for package, folder in folders:
        file = f"{folder}/{name}.yaml"
        source = f"{package.replace('.', '/')}/{file}"
        if (layer := document_file(package, file, source=source)) is not None:
            layers.append(layer)
    return layers


def file_layer(path: Path, type_: type[Section]) -> Document:
    """A settings file with its relative paths made absolute."""
    from stateward.definition.yaml_text import read_yaml  # with PyYAML; most have no settings file

    document = read_yaml(_text(path), source=str(path))
    value = (
        {}
        if document.value is None
        else _Absolute(path.parent).value(yaml_source.type_info(type_), document.value)
    )
    return Document(source=document.source, value=value, lines=document.lines)


def variable_layers(
    variables: Mapping[str, str], paths: Mapping[str, plain_values.Path]
) -> list[Document]:
    """The variables that are set (an empty one counts as unset), each at the place where a file would say it."""
    layers = []
    for name, path in paths.items():
        value: object = variables.get(name)
        if not value:
            continue
        for key in reversed(path):
            value = {key: value}
        layers.append(plain_values.read_python(value, source=name))
    return layers


def variables_in(
    type_: type[msgspec.Struct], at: plain_values.Path = ()
) -> Iterator[tuple[str, plain_values.Path]]:
    """The variables that fields below a section name (`Meta(extra={"variable": ...})`), each with its place."""
    for field in fields(type_):
        place = (*at, field.name)
        if isinstance(name := extra_of(field.type).get("variable"), str):
            yield name, place
        if isinstance(field.type, kinds.StructType):
            yield from variables_in(field.type.cls, place)


def crash_at(variables: Mapping[str, str]) -> CrashAt | None:
    """The failpoint at which a test lets this process die."""
    text = variables.get(CRASH_AT, "")
    try:
        return CrashAt.parse(text) if text else None
    except ValueError as error:
        fault = Fault(source=CRASH_AT, line=0, path="", sentence=str(error))
        raise DeclarationError([fault]) from None


def _text(path: Path) -> str:
    line = 0
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        if len(raw) <= FILE_BYTES_MAX:
            return raw.decode()
        sentence = f"the settings file is larger than {FILE_BYTES_MAX} bytes"
    except FileNotFoundError:
        sentence = "there is no such settings file"
    except IsADirectoryError:
        sentence = "this is a folder, not a settings file"
    except PermissionError:
        sentence = "this user may not read the settings file"
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        sentence = "the settings file is not UTF-8 text"
    except (OSError, ValueError) as error:
        sentence = f"the settings file cannot be read: {error}"
    raise DeclarationError([Fault(source=str(path), line=line, path="", sentence=sentence)])


class _Absolute:
    """Walks a file's values beside their types: relative paths become absolute.

    Whatever does not fit its type stays as it is: `yaml_source.convert` refuses it with the better sentence.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def value(self, kind: kinds.Type, value: object, path: plain_values.Path = ()) -> object:
        is_path = extra_of(kind).get("is_path")
        match kind, value:
            case kinds.Metadata(), str() if callable(is_path):
                return str(self._folder / value) if is_path(value) else value
            case kinds.Metadata(), _:
                return self.value(kind.type, value, path)
            case kinds.UnionType(), _:
                for each in kind.types:
                    value = self.value(each, value, path)
            case kinds.StructType(), dict():
                return self._section(kind, value, path)
            case kinds.StructType(), str() if short := getattr(kind.cls, "short_form", ""):
                return {short: value}
            case kinds.DictType(), dict():
                inner = kind.value_type
                return {key: self.value(inner, each, (*path, key)) for key, each in value.items()}
            case kinds.VarTupleType(), list():
                inner = kind.item_type
                return [self.value(inner, each, (*path, at)) for at, each in enumerate(value)]
        return value

    def _section(
        self, kind: kinds.StructType, value: dict[str, object], path: plain_values.Path
    ) -> dict[str, object]:
        return {
            key: self.value(_field_type(kind, key), each, (*path, key))
            for key, each in value.items()
        }


def _field_type(kind: kinds.StructType, key: str) -> kinds.Type:
    for field in kind.fields:
        keys = yaml_source.key_form(field.type)
        if keys is None and field.name == key:
            return field.type
        if keys is not None and re.fullmatch(re.sub("<.*>", "[a-z][a-z0-9_]*", keys), key):
            mapping = field.type.type if isinstance(field.type, kinds.Metadata) else field.type
            return mapping.value_type if isinstance(mapping, kinds.DictType) else mapping
    return kinds.AnyType()

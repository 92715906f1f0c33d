"""What settings are made of: `Section`, the types of values, and checks that several areas share.

A section is one mapping in a settings file. The types below carry their limits, so that a wrong value is refused
with its file and line before any code sees it. This module must never read a file or the environment.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from msgspec import inspect as kinds

from stateward.definition import plain_values, yaml_source

MIB = 1024 * 1024
# 30 days: longer than any wait that makes sense here, short enough that a misplaced zero is noticed.
SECONDS_MAX = 30 * 24 * 3600

Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=SECONDS_MAX)]
Wait: TypeAlias = Annotated[float, Meta(ge=0, le=SECONDS_MAX)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1)]
Name: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z][a-z0-9_]*\Z",
        max_length=100,
        title="a name of small letters, digits and underscores",
    ),
]
Email: TypeAlias = Annotated[str, Meta(pattern=r"\A[^@\s]+@[^@\s]+\Z", title="an e-mail address")]
# `is_path` says which texts of a field are paths: those of a file are relative to it, wherever the service is
# started (see `sources`).
FilePath: TypeAlias = Annotated[str, Meta(min_length=1, extra={"is_path": bool})]

Problem: TypeAlias = tuple[plain_values.Path, str]
"""A place in the settings, relative to its section, and what is wrong there."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping in a settings file."""

    short_form: ClassVar[str] = ""
    """The key that a text in place of the whole section sets."""

    @classmethod
    def declared_as(cls) -> "type[Section]":
        """The type whose fields a settings file can say."""
        return cls

    def problems(self) -> Iterator[Problem]:
        """What is well-formed and still impossible, in this section without those inside it."""
        yield from ()

    def all_problems(self) -> Iterator[Problem]:
        """The same with the sections inside it."""
        yield from self.problems()
        for name in self.__struct_fields__:
            for path, section in _sections(self.declared_as(), name, getattr(self, name)):
                for inner, sentence in section.all_problems():
                    yield (*path, *inner), sentence

    def as_mapping(self) -> dict[str, object]:
        """The section as a settings file would hold it, with *** for everything secret."""
        return mapping_of(self, type(self))

    def __repr__(self) -> str:
        """Without secrets: a section may end up in a log line or a traceback."""
        return f"{type(self).__name__}({self.as_mapping()})"


def mapping_of(section: Section, type_: type[Section]) -> dict[str, object]:
    """The fields that `type_` declares; keys that one field gathers (`<state>_timeout_seconds`) stand alone again."""
    mapping: dict[str, object] = {}
    for field in fields(type_):
        value = _plain(getattr(section, field.name))
        keys = yaml_source.key_form(field.type)
        if value is not None and extra_of(field.type).get("secret"):
            value = "***"
        if keys is not None and isinstance(value, dict):
            mapping |= {re.sub("<.*>", name, keys): each for name, each in value.items()}
        else:
            mapping[field.name] = value
    return mapping


def fields(type_: type[msgspec.Struct]) -> tuple[kinds.Field, ...]:
    info = yaml_source.type_info(type_)
    return info.fields if isinstance(info, kinds.StructType) else ()


def extra_of(kind: kinds.Type) -> dict[str, object]:
    """What `Meta(extra=...)` says of a type."""
    return (kind.extra or {}) if isinstance(kind, kinds.Metadata) else {}


def mask_secrets(text: str) -> str:
    """A URL with *** for its passwords, an API key with *** for its secret; other text as it is."""
    # Greedy up to the last @: a password that holds one itself must not be shown from there on.
    text = re.sub(r"(://[^:@/?#]*):.*@", r"\1:***@", text, flags=re.DOTALL)
    # With NATS a user alone is a token, and one that is not encoded may hold what ends the login of a URL.
    text = re.sub(r"\b((?:nats|tls)://)(?![^:@/?#\s]*:\*{3}@)\S*@", r"\1***@", text)
    parameters = r"([?&][^=&#]*(?:pass|secret|token)[^=&#]*=)[^&#]*"
    text = re.sub(parameters, r"\1***", text, flags=re.IGNORECASE)
    return re.sub(
        r"\b(sw_[a-z0-9]+)_\w+", r"\1_***", text
    )  # API keys: the part that names the key stays


PLAIN_ADDRESS = "http or https, with a host and without credentials"


def is_plain_address(url: str) -> bool:
    return has_host(url, "http", "https") and "@" not in urlsplit(url).netloc


def has_host(url: str, *schemes: str) -> bool:
    """Whether a URL has one of these schemes, a host, and a port that exists."""
    return is_url(url) and urlsplit(url).scheme in schemes and bool(urlsplit(url).hostname)


def is_url(url: str) -> bool:
    """Whether a URL can be taken apart."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def find_repeated(names: Iterable[str]) -> list[str]:
    """What is listed more than once."""
    listed = list(names)
    return [name for name in dict.fromkeys(listed) if listed.count(name) > 1]


def _sections(
    type_: type[Section], name: str, value: object
) -> Iterator[tuple[plain_values.Path, Section]]:
    """The sections that a field holds, each with its place in a file."""
    match value:
        case Section():
            yield (name,), value
        case tuple():
            for place, each in enumerate(value):
                if isinstance(each, Section):
                    yield (name, place), each
        case dict() if value:
            if (keys := yaml_source.gathered_keys(type_, name)) is None:
                return
            for own, each in value.items():
                if isinstance(each, Section):
                    yield (re.sub("<.*>", own, keys),), each


def _plain(value: object) -> object:
    match value:
        case Section():
            return value.as_mapping()
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case tuple():
            return [_plain(each) for each in value]
        case str():
            return mask_secrets(value)
        case _:
            return value

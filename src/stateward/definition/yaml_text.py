"""Read YAML text: one document as a plain value that remembers its lines, or a list of every fault.

Only a subset of YAML is read, chosen to hold no surprises. Only `true` and `false` are booleans; `null`, `~` and an
empty value are null; numbers are decimal, with digits on both sides of a point and a sign in an exponent. Everything
else is text: `yes`, `012`, `1:30`, `1e3`, `0x1F`, `2024-01-31`, `1 2`. (No number here is text to PyYAML, so whatever
PyYAML writes reads back equal.)

PyYAML takes a tenth of the time of a short command to import: callers that may not need it import this module late.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml

from stateward.core.errors import DeclarationError, Fault
from stateward.definition.plain_values import (
    TEXT_CHARS_MAX,
    Copier,
    Document,
    Path,
    TooManyFaults,
    quote_value,
    quote_word,
    resolve_scalar,
)


def read_yaml(text: str, *, source: str) -> Document:
    """One YAML document as a plain value; raises `DeclarationError` with every fault that can be found."""
    # libyaml is ten times as fast, but its words for what is wrong are others: the parser in Python has the last one.
    composer = _Composer(text, source=source, loader=_QUICK_LOADER)
    value = composer.compose()
    if composer.faults:
        composer = _Composer(text, source=source, loader=yaml.SafeLoader)
        value = composer.compose()
    if composer.faults:
        raise DeclarationError(composer.faults)
    return Document(source=source, value=value, lines=composer.lines)


# YAML. PyYAML's parser gives events without recursing, so deep nesting cannot exhaust the stack; what the events mean
# is decided here, because PyYAML's own constructor would turn `no` into False and forget the lines.

_Event: TypeAlias = Any
_Loader: TypeAlias = Any
_QUICK_LOADER: _Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_TAG_TYPES: dict[str, type] = {
    f"{_CORE}str": str,
    f"{_CORE}int": int,
    f"{_CORE}float": float,
    f"{_CORE}bool": bool,
    f"{_CORE}null": type(None),
}
_HINTS = {
    "'\\t'": "indent with spaces, not with tabs",
    "mapping values are not allowed here": "text that holds a colon and a space needs quotes",
}


class _Composer(Copier):
    """Builds plain values from the events of one YAML text; `lines` says where each began."""

    def __init__(self, text: str, *, source: str, loader: _Loader) -> None:
        super().__init__(source)
        self._loader = loader
        self.lines: dict[Path, int] = {}
        self._text = text
        self._anchors: dict[str, object] = {}
        self._events: Iterator[_Event] = iter(())

    def compose(self) -> object:
        """The value of the only document; what is wrong is in `faults`."""
        try:
            if len(self._text) > TEXT_CHARS_MAX:
                self.give_up((), f"it is longer than {TEXT_CHARS_MAX} characters")
            self._events = yaml.parse(self._text, Loader=self._loader)
            return self._root()
        except TooManyFaults:
            pass
        except yaml.MarkedYAMLError as error:
            self.line = error.problem_mark.line + 1 if error.problem_mark else self.line
            problem = " ".join(part for part in (error.context, error.problem) if part)
            cures = [cure for sign, cure in _HINTS.items() if sign in problem]
            self._add_fault(": ".join(["this is not valid YAML", problem, *cures]))
        except yaml.reader.ReaderError as error:
            self.line = self._text.count("\n", 0, error.position) + 1
            self._add_fault(f"the character U+{int(error.character):04X} may not be in YAML")
        except (ValueError, OverflowError):  # PyYAML lets chr() and int() fail by themselves
            self._add_fault("it contains an invalid escape or version number")
        return None

    def _root(self) -> object:
        value = None
        documents = 0
        for event in self._events:
            self.line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.give_up((), "it contains several documents; keep one per file")
            elif isinstance(event, yaml.NodeEvent):
                value = self._node(event, ())
        return value

    def _next(self) -> _Event:
        event = next(self._events)
        self.line = event.start_mark.line + 1
        return event

    def _node(self, event: _Event, path: Path) -> object:
        self.lines.setdefault(path, self.line)
        if isinstance(event, yaml.AliasEvent):
            anchor = str(event.anchor)
            if anchor in self._anchors:
                return self.value(self._anchors[anchor], path)
            self.refuse(path, f"the alias *{quote_word(anchor)} is not defined before it is used")
            return None
        value = self._compose_value(event, path)
        # An anchor is known only once its value is complete, so that no value can contain itself.
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _compose_value(self, event: _Event, path: Path) -> object:
        if isinstance(event, yaml.ScalarEvent):
            return self.value(self._scalar(event, path), path)
        self.count(path)
        if isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event.tag, "seq", path)
            return self._sequence(path)
        self._check_tag(event.tag, "map", path)
        return self._mapping(path)

    def _check_tag(self, tag: str | None, word: str, path: Path) -> None:
        if tag not in (None, "!", _CORE + word):
            self._refuse_tag(tag, path)

    def _refuse_tag(self, tag: str, path: Path) -> None:
        word = tag.replace(_CORE, "!!")
        self.refuse(path, f"the tag {quote_word(word)} is not supported; write the plain value")

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        mapping: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, path)
            place = (*path, key)
            if key in mapping:
                first = self.lines[place]
                self.refuse(place, f"the key {quote_value(key)} is already used on line {first}")
            self.lines.setdefault(place, self.line)
            mapping[key] = self._node(self._next(), place)
        return mapping

    def _key(self, event: _Event, path: Path) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            return self.key(self._node(event, (*path, "?")), path)
        self.count(path)
        if event.value == "<<" and not event.style:
            self.refuse(path, "the merge key << is not supported; write the keys out")
        return self.key(self._scalar(event, path), path)

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> object:
        text: str = event.value
        if event.tag is None:
            return resolve_scalar(text) if not event.style else text
        if event.tag == "!":
            return text
        return self._resolve_tag(event.tag, text, path)

    def _resolve_tag(self, tag: str, text: str, path: Path) -> object:
        type_ = _TAG_TYPES.get(tag)
        if type_ is None:
            self._refuse_tag(tag, path)
        if type_ is None or type_ is str:
            return text
        value = resolve_scalar(text)
        if type_ is float and type(value) is int:
            return float(value)
        if type(value) is not type_:
            self.refuse(path, f"{quote_value(text)} does not match its tag")
        return value

    def _add_fault(self, sentence: str) -> None:
        self.faults.append(Fault(source=self.source, line=self.line, path="", sentence=sentence))

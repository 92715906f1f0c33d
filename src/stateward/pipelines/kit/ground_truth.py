"""Documents of a folder and what is known to be true of them, in the forms in which people write it down.

The truth of NAME.pdf stands beside it as NAME.truth.json (or NAME.pdf.truth.json), or in a list for many documents: a
`truth.json` that maps their names to it, or a `truth.jsonl` with a line for each, in their folder or in one above it.
What a truth says is for each pipeline to read; here it is only found and decoded. Faults name the file and what to do.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest

BYTES_MAX = 64 * 1024 * 1024
FILES_MAX = 100_000
LISTS = ("truth.json", "truth.jsonl")
# The keys under which a line of `truth.jsonl` names its document.
FILE_KEYS = ("file", "filename", "name", "path", "document", "id")
BESIDE = ("{name}.truth.json", "{stem}.truth.json")


class Told(msgspec.Struct, frozen=True):
    """What a truth file tells of one document: a decoded JSON value, and the name of the file."""

    value: object
    source: str


class TruthFiles:
    """The truth of each document below a folder; every list is read once.

    `beside` are the names that a truth file beside a document may have, where they are not the usual ones. Numbers with
    a fraction are Decimals if `exact`, because 0.1 is no float.
    """

    def __init__(
        self, folder: Path, *, beside: Sequence[str] = BESIDE, exact: bool = False
    ) -> None:
        self._folder = folder
        self._beside = beside
        self._exact = exact
        self._lists: dict[Path, Mapping[str, Told]] = {}

    def of(self, document: Path) -> Told | None:
        """What is told of a document; None if nothing is."""
        for form in self._beside:
            path = document.with_name(form.format(name=document.name, stem=document.stem))
            if path.is_file() and path != document:
                return Told(read_json(path, exact=self._exact), path.name)
        for folder in self._folders(document):
            told = self._listed_truth(folder)
            name = document.relative_to(folder)
            for key in (name.as_posix(), name.with_suffix("").as_posix()):
                if key in told:
                    return told[key]
        return None

    def _folders(self, document: Path) -> Iterator[Path]:
        for folder in document.parents:
            yield folder
            if folder == self._folder:
                return

    def _listed_truth(self, folder: Path) -> Mapping[str, Told]:
        if folder not in self._lists:
            self._lists[folder] = dict(self._read_lists(folder))
        return self._lists[folder]

    def _read_lists(self, folder: Path) -> Iterator[tuple[str, Told]]:
        one, lines = (folder / name for name in LISTS)
        if one.is_file():
            for name, value in mapping(read_json(one, exact=self._exact), one.name).items():
                yield str(name), Told(value, one.name)
        if lines.is_file():
            for value in read_json_lines(lines, exact=self._exact):
                name = next((str(value[key]) for key in FILE_KEYS if value.get(key)), "")
                yield name, Told(value, lines.name)


def documents_in(folder: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Files with one of these endings below a folder, in a fixed order; not the truth files among them."""
    count = 0
    for path in sorted(folder.rglob("*")):
        is_truth = path.name in LISTS or path.name.endswith(".truth.json")
        if path.suffix.lower() not in suffixes or is_truth or not path.is_file():
            continue
        count += 1
        if count > FILES_MAX:
            raise InvalidRequest(
                f"{folder} holds more than {FILES_MAX} documents; evaluate parts of it"
            )
        yield path


def read_json(path: Path, *, exact: bool = False) -> object:
    """The JSON value of a truth file."""
    return _decode(read_text(path), path.name, exact=exact)


def read_json_lines(path: Path, *, exact: bool = False) -> Iterator[dict[str, object]]:
    """The JSON objects of a file that holds one on each line."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            place = f"{path.name}, line {number}"
            yield mapping(_decode(line, place, exact=exact), place)


def read_text(path: Path) -> str:
    """The text of a truth file, if it is of a sensible size."""
    if path.stat().st_size > BYTES_MAX:
        raise InvalidRequest(
            f"{path.name} is larger than {BYTES_MAX} bytes: it is no truth file; split or remove it"
        )
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path.name} is not UTF-8; save it as UTF-8") from error


def mapping(value: object, place: str) -> dict[str, object]:
    """A value that must be a JSON object."""
    if not isinstance(value, dict):
        raise InvalidRequest(f"{place} must map names to values; it holds a {type(value).__name__}")
    return value


def _decode(text: str, place: str, *, exact: bool) -> object:
    try:
        return json.loads(text, parse_float=Decimal if exact else None)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{place} is no JSON: {error}; mend or remove it") from error

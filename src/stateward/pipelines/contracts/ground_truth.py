"""What is true of sample contracts, in any of the forms in which people write it down.

A folder may hold one `truth.json` (a mapping from file to fields, with or without a vertical; also that of the Kleister
and CUAD corpora), one `truth.jsonl` (a line for each file), or beside each NAME.pdf a NAME.truth.json or NAME.json.
Values may be texts, numbers, lists, or mappings with a `value`. Nothing here reads a contract.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest

SUFFIXES = (".pdf", ".docx", ".txt")
FILE_BYTES_MAX = 64 * 1024 * 1024
FILES_MAX = 100_000
GENERAL = "general"
FILE_KEYS = ("file", "filename", "name", "path", "document", "id")
VERTICAL_KEYS = ("vertical", "verticalSlug", "vertical_slug")
FIELDS_KEYS = ("fields", "correctedData", "corrected", "values", "truth", "data")
# Other names of the fields of general contracts.
ALIASES = {
    "jurisdiction": "governing_law",
    "law": "governing_law",
    "parties": "party",
    "date": "effective_date",
}
# Of CUAD: what stands for our fields there.
CUAD_PARTIES = "Parties-Answer"
CUAD_DATES = ("Effective Date-Answer", "Agreement Date-Answer")
CUAD_LAW = "Governing Law-Answer"
CUAD_FIELDS = ("party", "effective_date", "governing_law")

Json = object


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of one contract. `scope` names the fields that it speaks of, if it does not speak of all."""

    vertical: str = ""
    fields: dict[str, list[str]]
    scope: tuple[str, ...] = ()


def truths_in(folder: Path) -> dict[str, Truth]:
    """The truth of each contract of a folder, by the path of its file."""
    truths: dict[str, Truth] = {}
    for path in sorted(folder.rglob("truth.json")):
        for name, told in _mapping(_loaded(path), path).items():
            _add(truths, folder, path.parent, str(name), _mapping(told, path))
    for path in sorted(folder.rglob("truth.jsonl")):
        for told in _lines(path):
            name = next((str(told[key]) for key in FILE_KEYS if told.get(key)), "")
            _add(truths, folder, path.parent, name, told)
    for path in contracts(folder):
        name = path.relative_to(folder).as_posix()
        if name not in truths and (beside := _beside(path)) is not None:
            truths[name] = truth_of(_mapping(_loaded(beside), beside))
    return truths


def contracts(folder: Path) -> Iterator[Path]:
    """Files that may be contracts, by their endings, in a fixed order; a text beside a PDF of its name is its copy."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES]
    names = {path.with_suffix("") for path in found if path.suffix.lower() == ".pdf"}
    for path in found[:FILES_MAX]:
        is_copy = path.suffix.lower() == ".txt" and path.with_suffix("") in names
        if path.is_file() and not is_copy:
            yield path


def truth_of(told: Mapping[str, Json]) -> Truth:
    """One truth, out of a mapping of any of the known forms."""
    if CUAD_PARTIES in told:
        return _cuad(told)
    vertical = next((str(told[key]) for key in VERTICAL_KEYS if told.get(key)), "")
    inner = next((value for key in FIELDS_KEYS if isinstance(value := told.get(key), dict)), None)
    if inner is None:
        skipped = {*VERTICAL_KEYS, *FILE_KEYS}
        inner = {key: value for key, value in told.items() if key not in skipped}
    fields = {_field(str(name)): list(_values(value)) for name, value in inner.items()}
    if not vertical and fields.keys() & {"party", "governing_law"}:
        vertical = GENERAL
    return Truth(vertical=vertical, fields={name: all_ for name, all_ in fields.items() if all_})


def _add(
    truths: dict[str, Truth], folder: Path, beside: Path, name: str, told: Mapping[str, Json]
) -> None:
    path = beside / name
    if not path.is_file():
        # Not `with_suffix`: names of corpora hold dots of their own.
        copies = (beside / f"{name}{suffix}" for suffix in SUFFIXES)
        path = next((copy for copy in copies if copy.is_file()), path)
    if name and path.is_file():
        truths[path.relative_to(folder).as_posix()] = truth_of(told)


def _beside(path: Path) -> Path | None:
    names = (f"{path.stem}.truth.json", f"{path.name}.json", f"{path.stem}.json")
    return next((found for name in names if (found := path.with_name(name)).is_file()), None)


def _field(name: str) -> str:
    """`monthlyRate` and `Monthly rate` are `monthly_rate`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", name).lower()
    return ALIASES.get(plain, plain)


def _values(value: Json) -> Iterator[str]:
    match value:
        case None | "":
            return
        case list():
            for each in value:
                yield from _values(each)
        case dict():
            unit = value.get("unit") or value.get("currency") or ""
            for each in _values(value.get("value")):
                yield f"{each} {unit}".strip()
        case float():
            yield f"{value:.10g}"
        case _:
            yield str(value).replace("_", " ")


def _cuad(told: Mapping[str, Json]) -> Truth:
    parties = [_bare(part) for part in str(told.get(CUAD_PARTIES) or "").split(";")]
    dates = [str(told.get(key) or "") for key in CUAD_DATES]
    date = next((_american(text) for text in dates if re.fullmatch(r"[\d/]+", text)), "")
    law = str(told.get(CUAD_LAW) or "").split(";")[0].strip()
    fields = {
        "party": [name for name in parties if name],
        "effective_date": [date] if date else [],
        "governing_law": [law] if law else [],
    }
    kept = {name: values for name, values in fields.items() if values}
    return Truth(vertical=GENERAL, fields=kept, scope=CUAD_FIELDS)


def _bare(text: str) -> str:
    """A party without its short names in brackets."""
    return re.sub(r"\([^()]*\)", " ", text).strip(' ,\u201c\u201d"')


def _american(text: str) -> str:
    month, day, year = (int(part) for part in text.split("/"))
    year += 0 if year > 99 else 2000 if year < 50 else 1900
    return f"{year:04}-{month:02}-{day:02}"


def _lines(path: Path) -> Iterator[dict[str, Json]]:
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if line.strip():
            try:
                yield _mapping(json.loads(line), path)
            except ValueError as error:
                raise InvalidRequest(f"{path.name}, line {number} is no JSON: {error}") from error


def _loaded(path: Path) -> Json:
    try:
        return json.loads(_text(path))
    except ValueError as error:
        raise InvalidRequest(f"{path.name} is no JSON: {error}; mend or remove it") from error


def _text(path: Path) -> str:
    if path.stat().st_size > FILE_BYTES_MAX:
        raise InvalidRequest(f"{path.name} is larger than {FILE_BYTES_MAX} bytes; split the folder")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path.name} is not UTF-8; save it as UTF-8") from error


def _mapping(value: Json, path: Path) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"{path.name} must map names to values; it holds a {type(value).__name__}"
        )
    return value

"""What is true of sample contracts, in any of the forms in which people write it down.

A folder may hold one `truth.json` (a mapping from file to fields, with or without a vertical; also that of the Kleister
and CUAD corpora), one `truth.jsonl` (a line for each file), or beside each NAME.pdf a NAME.truth.json or NAME.json.
Values may be texts, numbers, lists, or mappings with a `value`. Nothing here reads a contract.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from stateward.pipelines.contracts import cuad_truth
from stateward.pipelines.kit.ground_truth import (
    BESIDE,
    FILE_KEYS,
    TruthFiles,
    documents_in,
    mapping,
)

SUFFIXES = (
    ".pdf",
    ".docx",
    ".odt",
    ".rtf",
    ".eml",
    ".txt",
    ".png",
    ".jpg",
    ".jpeg",
    ".tif",
    ".tiff",
)
# A truth file of a contract may also have its name with `.json`.
BESIDE_CONTRACTS = (*BESIDE, "{name}.json", "{stem}.json")
GENERAL = "general"
VERTICAL_KEYS = ("vertical", "verticalSlug", "vertical_slug")
FIELDS_KEYS = ("fields", "correctedData", "corrected", "values", "truth", "data")
# Other names of the fields of general contracts.
ALIASES = {
    "jurisdiction": "governing_law",
    "law": "governing_law",
    "parties": "party",
    "date": "effective_date",
}
Json = object


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of one contract. `scope` names the fields that it speaks of, if it does not speak of all."""

    vertical: str = ""
    fields: dict[str, list[str]]
    scope: tuple[str, ...] = ()


def truths_in(folder: Path) -> dict[str, Truth]:
    """The truth of each contract of a folder, by the path of its file."""
    files = TruthFiles(folder, beside=BESIDE_CONTRACTS)
    told = ((path, files.of(path)) for path in contracts(folder))
    return {
        path.relative_to(folder).as_posix(): truth_of(mapping(found.value, found.source))
        for path, found in told
        if found is not None
    }


def contracts(folder: Path) -> Iterator[Path]:
    """Files that may be contracts, by their endings, in a fixed order; a text beside a PDF of its name is its copy."""
    found = list(documents_in(folder, SUFFIXES))
    names = {path.with_suffix("") for path in found if path.suffix.lower() == ".pdf"}
    for path in found:
        if path.suffix.lower() != ".txt" or path.with_suffix("") not in names:
            yield path


def truth_of(told: Mapping[str, Json]) -> Truth:
    """One truth, out of a mapping of any of the known forms."""
    if cuad_truth.is_cuad(told):
        fields = cuad_truth.fields_of(told)
        return Truth(vertical=GENERAL, fields=fields, scope=cuad_truth.FIELDS)
    vertical = next((str(told[key]) for key in VERTICAL_KEYS if told.get(key)), "")
    inner = next((value for key in FIELDS_KEYS if isinstance(value := told.get(key), dict)), None)
    if inner is None:
        skipped = {*VERTICAL_KEYS, *FILE_KEYS}
        inner = {key: value for key, value in told.items() if key not in skipped}
    named = {_field(str(name)): list(_values(value)) for name, value in inner.items()}
    if not vertical and named.keys() & {"party", "governing_law"}:
        vertical = GENERAL
    return Truth(vertical=vertical, fields={name: all_ for name, all_ in named.items() if all_})


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

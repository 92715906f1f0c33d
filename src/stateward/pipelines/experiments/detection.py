"""Whether a file is research data: a ZIP with a data package, or a table of any kind."""

import re
import zipfile

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.experiments.schema import heading_unit
from stateward.pipelines.kit.files import ZIP, is_binary

# A table may be anything, so that pipelines that know it better are believed first; only measurements have units.
PACKAGE, MEASUREMENTS, TABLE = 90, 30, 10
UNITS_MIN = 2
CURRENCY = re.compile(r"[A-Z]{3}|[^\w\s°]")
NAMES_MAX = 10_000


def detect(content: Content) -> Detected | None:
    """A data package, a ZIP with tables, or a table; None for everything else."""
    if content.head.startswith(ZIP):
        return _archive(content)
    text = content.head.decode("utf-8", "replace")
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    is_table = len(lines) > 1 and any(sign in lines[0] for sign in ",;\t|") and not is_binary(text)
    is_other = text.lstrip("\ufeff \r\n\t").startswith(("{", "[", "<", "%PDF", "MSH|"))
    if not is_table or is_other:
        return None
    confidence = MEASUREMENTS if _units(lines[0]) >= UNITS_MIN else TABLE
    return Detected(source_type="dataset", format="table", confidence=confidence)


def _units(line: str) -> int:
    """How many headings of a first line name a unit of measurement; a currency is none."""
    delimiter = max(",;\t|", key=line.count)
    units = (heading_unit(each.strip(' "'))[1] for each in line.split(delimiter))
    return sum(bool(unit) and not CURRENCY.fullmatch(unit) for unit in units)


def _archive(content: Content) -> Detected | None:
    try:
        with zipfile.ZipFile(content.path) as archive:
            names = [each.rpartition("/")[2] for each in archive.namelist()[:NAMES_MAX]]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    if "datapackage.json" in names:
        return Detected(source_type="dataset", format="package", confidence=PACKAGE)
    has_table = any(name.lower().endswith((".csv", ".tsv")) for name in names)
    return (
        Detected(source_type="dataset", format="archive", confidence=TABLE) if has_table else None
    )

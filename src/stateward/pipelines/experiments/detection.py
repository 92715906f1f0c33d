"""Whether a file is research data: a ZIP with a data package, or a table of any kind."""

import zipfile

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.files import ZIP, is_binary

PACKAGE, TABLE = (
    90,
    10,
)  # a table may be anything, so that pipelines that know it better are believed first
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
    return Detected(source_type="dataset", format="table", confidence=TABLE)


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

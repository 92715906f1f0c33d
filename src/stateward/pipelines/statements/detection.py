"""Which format a file has, by its content, before it is accepted. It never inflates or parses anything."""

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.statements.sniff import sniff
from stateward.pipelines.statements.source import Bounds, Hints, Source

# By format. A table of any kind may be a statement, so that a pipeline that knows its tables better is believed first.
SOURCE_TYPES = {
    "pdf": "bank_pdf", "csv": "bank_csv", "sheet": "bank_xlsx", "ofx": "bank_ofx", "qif": "bank_qif",
    "mt940": "bank_mt940", "camt": "bank_camt", "bai2": "bank_bai2", "html": "bank_html",
    "picture": "bank_scan",
}  # fmt: skip
CONFIDENCES = {"pdf": 20, "csv": 20, "sheet": 20, "html": 5, "picture": 5}
# A page under the name of a spreadsheet: only downloads of banks and shops are that.
SAVED_AS_SHEET = 60
OWN_FORMAT = 95  # only banks write these


def detect(content: Content) -> Detected:
    """A statement of some format; a refusal with its sentence if it is none that is read."""
    source = Source(content.path, Hints(), Bounds(), head=content.head)
    found = sniff(source, is_inflating=False)
    confidence = CONFIDENCES.get(found, OWN_FORMAT)
    if found == "html" and content.name.lower().endswith((".xls", ".xlsx")):
        confidence = SAVED_AS_SHEET
    return Detected(
        source_type=SOURCE_TYPES.get(found, "auto"),
        format=found,
        confidence=confidence,
    )

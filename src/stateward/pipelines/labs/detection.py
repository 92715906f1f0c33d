"""Whether a document is a lab report, by its first bytes. It never inflates or parses anything.

A PDF shows nothing of its content there: it is one only by its name, and a pipeline that knows more is believed first.
"""

import csv
import re

from stateward.core.errors import FatalFailure
from stateward.definition.plugin import Content, Detected
from stateward.pipelines.labs.readers import CCDA, CSV, FHIR, HL7, PDF, format_of

SOURCE_TYPE = "lab_report"
OWN_FORMAT = 95  # only laboratories write these
TABLE = 60  # its headings are those of a lab report; statements answer 20 for any table
BY_NAME = 30
LINES_MAX = 20
_OBX = re.compile(rb"[\r\n]OBX[^\w\s]|\bORU[\^]")
_FHIR = re.compile(rb'"resourceType"\s*:\s*"(Observation|DiagnosticReport|Bundle)"')
_CDA = re.compile(rb"<(?:\w+:)?ClinicalDocument\b")
_NAMES = re.compile(
    r"(?:^|[^a-z])(?:lab[-_ ]?reports?|lab[-_ ]?results?|labor[-_ ]?(?:befund|werte|bericht)\w*|blutbild|"
    r"blood[-_ ]?(?:test|work)s?|befundbericht|bilan[-_ ]?sanguin|anal[ií]tica|hemograma|oru)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def detect(content: Content) -> Detected | None:
    """A lab report of some format; None if it is none."""
    try:
        found = format_of(content.head)
    except FatalFailure:
        return None
    confidence = _confidence(found, content)
    if not confidence:
        return None
    return Detected(source_type=SOURCE_TYPE, format=found, confidence=confidence)


def _confidence(found: str, content: Content) -> int:
    head = content.head
    if found == HL7:
        return OWN_FORMAT if _OBX.search(head) else 0
    if found == FHIR:
        return OWN_FORMAT if _FHIR.search(head) else 0
    if found == CCDA:
        return OWN_FORMAT if _CDA.search(head) else 0
    if found == CSV:
        return TABLE if _is_table(head) else 0
    return BY_NAME if found == PDF and _NAMES.search(content.name) else 0


def _is_table(head: bytes) -> bool:
    """Whether one of the first lines names a test and two of its result, unit, range and code.

    A table of several days has dates where others have the heading of the result.
    """
    from stateward.pipelines.labs.words import column_of

    codec = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    for line in head.decode(codec, "replace").splitlines()[:LINES_MAX]:
        for delimiter in ";,\t|":
            cells = (
                next(csv.reader([line], delimiter=delimiter), [])
                if line.count(delimiter) > 1
                else []
            )
            roles = {column_of(cell) for cell in cells}
            if "test" in roles and len(roles & {"value", "unit", "range", "code"}) > 1:
                return True
    return False

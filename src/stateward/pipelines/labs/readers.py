"""Which reader a document needs, by its content, and what it read."""

import re

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT, NO_TEXT, damage_is_retried
from stateward.pipelines.kit.files import OLE, ZIP, foreign_file, is_binary, is_empty, is_pdf
from stateward.pipelines.labs.model import LabReading
from stateward.pipelines.labs.source import ReportSource, private

HEAD_BYTES = 64 * 1024
NO_RESULTS = "NO_RESULTS"
HL7, FHIR, CCDA, CSV, XLSX, PDF = "hl7", "fhir", "ccda", "csv", "xlsx", "pdf"
_HL7 = re.compile(rb"(?:\xef\xbb\xbf)?[\x0b\s]*(?:MSH|FHS|BHS)[^\w\s]")
_SCAN = "make the text readable with OCR first, or ask the laboratory for a text PDF, HL7 or FHIR"


def format_of(head: bytes) -> str:
    """The format of a document that begins so; a refusal with its reason if it is none that is read."""
    if is_empty(head):
        raise FatalFailure("the file is empty; export the report again", code=EMPTY_DOCUMENT)
    if is_pdf(head):
        return PDF
    if head.startswith(ZIP):
        return XLSX
    if head.startswith(OLE):
        raise _unknown(
            "the file is an old office document; save the report as XLSX, CSV, PDF, HL7 or FHIR"
        )
    if what := foreign_file(head):
        if "image" in what:
            raise FatalFailure(f"the file is an image; {_SCAN}", code=NO_TEXT)
        raise _unknown(f"the file is {what}")
    if _HL7.match(head):
        return HL7
    text = head.decode(
        "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig", "replace"
    ).lstrip()
    if text.startswith(("{", "[")):
        return FHIR
    if text.startswith("<"):
        return CCDA
    if is_binary(text.replace("\x00", "")):
        raise _unknown("the file is neither text nor a format that is supported here")
    return CSV


def read_report(source: ReportSource) -> LabReading:
    """The observations of a document of any format. Nothing that it says is in a failure."""
    with source.path.open("rb") as file:
        kind = format_of(file.read(HEAD_BYTES))
    with damage_is_retried(source.attempt), private(kind.upper()):
        reading = _read(kind, source)
    if not reading.observations:
        left_out = "".join(f"; {count} {why}" for why, count in sorted(reading.skipped.items()))
        raise FatalFailure(
            f"the document holds no laboratory result{left_out}; check that it is a lab report and complete",
            code=NO_RESULTS,
        )
    return reading


def _read(kind: str, source: ReportSource) -> LabReading:
    if kind == HL7:
        from stateward.pipelines.labs.hl7 import read_hl7

        return read_hl7(source)
    if kind == FHIR:
        from stateward.pipelines.labs.fhir import read_fhir

        return read_fhir(source)
    if kind == CCDA:
        from stateward.pipelines.labs.ccda import read_ccda

        return read_ccda(source)
    if kind == PDF:
        from stateward.pipelines.labs.pdf import read_pdf

        return read_pdf(source)
    from stateward.pipelines.labs.table import read_sheet, read_table

    return read_sheet(source) if kind == XLSX else read_table(source)


def _unknown(sentence: str) -> FatalFailure:
    return FatalFailure(sentence, code="UNKNOWN_FORMAT")

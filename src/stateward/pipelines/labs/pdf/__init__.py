"""Lab reports as text PDFs: rows by geometry.

`headings` finds the lines that name columns, `headed` the tables below them, `layout` decides which words belong to
which column, `wrapped` which lines are one row, `line` makes a row of a line, `rows` puts lines of a table together
into results by what `line_kinds`, `result_lines` and `continuations` say of them, `reading` does so for whole pages,
`below` what the line under a row says of it, `cells` takes apart what one cell holds. `columns` tells columns by what
they hold, without headings, and `corridors` of the kit marks with which words a column begins that is hardly parted
from the one before it, `evidence` which of two readings explains more; `halves` reads tables side by side, `flowsheet`
a column for each test. `loose` reads lines outside of tables, `paired` rows with two results, `sentences` running text,
`antibiogram` letters of organisms, `blocks` tests whose parts have labels, `stacks` values below their names.
`patients` tells whether pages are of one person, `piped` takes bars out of tables that are drawn with them, `methods`
tells a method in brackets from the rest of a name, `own_flags` learns words of a laboratory for high and low,
`legends` knows the lines that explain them; `leftovers` asks of everything that looks like part of a result where it
went: what cannot be read is flagged, and never dropped.
"""

import re

from msgspec.structs import replace

from stateward.core.errors import FatalFailure, StageFailure
from stateward.pipelines.kit.dates import vote_order
from stateward.pipelines.kit.failures import CORRUPT_FILE, ENCRYPTED
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.pipelines.kit.pdf.lines import PdfLine, lines_of
from stateward.pipelines.kit.pdf.page_numbers import missing_pages
from stateward.pipelines.kit.pdf.pages import PdfPage, read_pages, require_text
from stateward.pipelines.labs.model import (
    AMENDED,
    DAMAGED,
    NO_DATE,
    PAGE_MISSING,
    SCANNED,
    LabReading,
)
from stateward.pipelines.labs.pdf.headings import (
    DATE,
    collected_date,
    collected_dates,
    has_unknown_date,
)
from stateward.pipelines.labs.pdf.page_words import table_words
from stateward.pipelines.labs.pdf.patients import count_patients
from stateward.pipelines.labs.pdf.reading import observations_of
from stateward.pipelines.labs.persons import SEVERAL
from stateward.pipelines.labs.source import ReportSource
from stateward.pipelines.labs.words import ENVIRONMENT, says_amended

LETTERHEAD_LINES = 15
CHARS_MIN = 60  # of the whole document: less is a scan
NO_TABLE = "NO_TABLE"
ADVICE = "ask the laboratory for a text PDF, HL7 or FHIR"
_PATIENT = re.compile(
    r"(?:patient(?:en)?[- ]?(?:id|nr|no|number|nummer)|mrn|pat\.?[- ]?(?:id|nr))\W{1,4}([\w-]{3,30})",
    re.IGNORECASE,
)

PAGES_NAMED_MAX = 10

# Reports of water and soil: their sodium is not that of blood.
_ENVIRONMENT = re.compile(
    r"trinkwasser|grundwasser|abwasser|drinking[ -]water|ground ?water|waste ?water|surface water"
    r"|water (?:reclamation|treatment)|\b(?:in|ef)fluent\b|sewage|\bsoils?\b|bodenprobe"
    r"|\banalyses? de sols?\b|\beaux? (?:potable|souterraine|usée)|agua potable|aguas residuales|acqua potabile"
    r"|acque reflue|água (?:potável|subterrânea|residual)|drinkwater|grondwater|afvalwater"
    r"|(?:dricks|brunns|grund|avlopps|rå)vatten|vattenförsörjning|(?:drikke|grunn|avløps)vann|(?:drikke|grund|spilde)vand\b"
    r"|juomavesi|pohjavesi|talousvesi|woda pitna|wody pitnej|ścieki|pitná voda|ivóvíz|water testing",
    re.IGNORECASE,
)
# Bacteria are counted in so much of water, and in a millilitre of urine.
_COUNTED_IN_WATER = re.compile(
    r"\b(?:MPN|CFU|KBE|UFC|KTK|JTK|KVE)\s?/\s?(?:100|250)\s?ml\b", re.IGNORECASE
)
# A laboratory that tests water, too, says so above the results of a person.
_PERSON = re.compile(
    r"\b(?:pa[ctz]i?[ej]nt\w*|date of birth|dob|geburtsdatum|date de naissance|fecha de nacimiento|data di nascita"
    r"|data de nascimento|geboortedatum)\b",
    re.IGNORECASE,
)
_DAY_FIRST = re.compile(
    r"\b(?:fechas?|pacientes?|resultados?|unidades|prélèvement|résultats?|unités)\b", re.IGNORECASE
)


def read_pdf(source: ReportSource) -> LabReading:
    """The results of a report."""
    decisions: list[str] = []
    if damaged := count_damaged_streams(source.path):
        if source.attempt == 0:
            raise StageFailure(
                f"{damaged} parts of the PDF are damaged, so results may be missing; a retry reads what is left",
                code=CORRUPT_FILE,
            )
        decisions.append(
            f"{DAMAGED}: {damaged} parts of the PDF are damaged; results may be missing"
        )
    pages = _pages(source)
    try:
        require_text(pages, chars_min=CHARS_MIN, advice=ADVICE)
    except FatalFailure as failure:
        from stateward.pipelines.kit.pdf.scans import scanned_pages

        pages = scanned_pages(source.path, failure)
        decisions.append(
            f"{SCANNED}: the PDF is a scan; its letters were recognised and may be mistaken"
        )
    lines, _ = lines_of(table_words(pages), PdfLine, is_content=_is_content)
    texts = [line.text for page in lines for line in page]
    order = _date_order(texts, pages, source)
    patient = next(
        (source.patient(found[1]) for text in texts if (found := _PATIENT.search(text))), ""
    )
    collected = collected_date(lines, order)
    above = texts[:LETTERHEAD_LINES]
    is_of_person = any(map(_PERSON.search, above))
    is_water = any(map(_ENVIRONMENT.search, above)) or any(map(_COUNTED_IN_WATER.search, texts))
    matrix = ENVIRONMENT if is_water and not is_of_person else ""
    observations = observations_of(
        lines,
        date_order=order,
        collected=collected,
        later=[each for each in collected_dates(lines, order) if not each.is_received],
        patient=patient,
    )
    observations = [replace(each, specimen=each.specimen or matrix) for each in observations]
    if not observations:
        raise FatalFailure(
            "no table of results was found in the PDF; check that it is a lab report, or submit it as HL7, FHIR or CSV",
            code=NO_TABLE,
        )
    if not any(each.collected for each in observations):
        why = (
            "a date after a label that is not known may be that of collection"
            if has_unknown_date(lines)
            else "no date of collection was found"
        )
        decisions.append(f"{NO_DATE}: {why}; results have none")
    if any(map(says_amended, texts)):
        decisions.append(
            f"{AMENDED}: the report says that it takes the place of an earlier one; see its remarks"
        )
    if missing := missing_pages(pages):
        numbers = ", ".join(map(str, missing[:PAGES_NAMED_MAX]))
        decisions.append(
            f"{PAGE_MISSING}: by the numbers on the pages, these are missing: {numbers}"
        )
    patients = count_patients(lines, order)
    if patients > 1:
        decisions.append(SEVERAL)
    decisions.append(f"PDF: {len(pages)} pages, {len(observations)} rows")
    return LabReading(
        format="pdf", observations=observations, decisions=decisions, skipped={}, patients=patients
    )


def _pages(source: ReportSource) -> list[PdfPage]:
    """Every page, with the first password that opens the file."""
    for password in source.passwords:
        try:
            return list(read_pages(source.path, password=password, pages_max=source.pages_max))
        except FatalFailure as error:
            if error.code != ENCRYPTED:
                raise
    return list(read_pages(source.path, pages_max=source.pages_max))


def _is_content(text: str) -> bool:
    """Whether a text in a margin belongs to the document although pages repeat it: the headings of a table do."""
    return len(text.split()) <= 12 and re.search(r"[^\W\d]{3}", text) is not None


def _date_order(texts: list[str], pages: list[PdfPage], source: ReportSource) -> str:
    """Day or month first: as the dates show, as the settings say, else as paper and language suggest.

    Letter is American, but Mexico and Quebec print on it too, and write the day first.
    """
    is_letter = abs(pages[0].width - 612) < 2 and abs(pages[0].height - 792) < 2
    is_english = not any(_DAY_FIRST.search(text) for text in texts)
    usual = source.date_order or ("mdy" if is_letter and is_english else "dmy")
    return (
        vote_order((found[0] for text in texts for found in DATE.finditer(text)), usual=usual).order
        or usual
    )

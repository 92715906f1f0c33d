"""Whether a document is a lab report, by its first bytes, and a PDF by the words of its first streams or its name.

Nothing is parsed: a PDF whose words cannot be seen so is one only by its name.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from stateward.core.errors import FatalFailure
from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.pdf.peek import is_glued, peeked_texts
from stateward.pipelines.kit.sheet_texts import first_texts
from stateward.pipelines.labs.readers import CCDA, CSV, FHIR, HL7, PDF, XLSX, format_of

SOURCE_TYPE = "lab_report"
OWN_FORMAT = 95  # only laboratories write these
TABLE = 60  # its headings are those of a lab report; statements answer 20 for any table
BY_WORDS = 60  # of a PDF; statements answer 20 for any
BY_HEADER = 60  # a message of a hospital without a result, which nothing else reads
BY_NAME = 30
LINES_MAX = 20
_OBX = re.compile(rb"[\r\n]OBX[^\w\s]|\bORU[\^]")
_FHIR = re.compile(rb'"resourceType"\s*:\s*"(Observation|DiagnosticReport|Bundle)"')
# A clinical document, or a results section by itself.
_CDA = re.compile(
    rb"<(?:\w+:)?ClinicalDocument\b"
    rb"|<section\b[^>]*>(?:\s|<!--(?:(?!-->).)*-->)*"
    rb"<templateId\s+root=\"2\.16\.840\.1\.113883\.10\.20\.22\.2\.3(?:\.1)?\"",
    re.DOTALL,
)
_NAMES = re.compile(
    r"(?:^|[^a-z])(?:lab[-_ ]?reports?|lab[-_ ]?results?|labor[-_ ]?(?:befund|werte|bericht)\w*|blutbild|"
    r"blood[-_ ]?(?:test|work)s?|befundbericht|bilan[-_ ]?sanguin|anal[ií]tica|hemograma|oru)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_DAY = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b")
# Headings of statements and price lists, which also have descriptions, references, values and units.
_MONEY = re.compile(
    r"\b(?:balance|saldo|solde|kontostand|amount|betrag|montant|importe|importo|debit|credit|d[eé]bit|cr[eé]dit|soll|haben|"
    r"withdrawals?|deposits?|price|prices|preis|einzelpreis|prix|precio|prezzo)\b",
    re.IGNORECASE,
)
# Names of a column that are those of a test only beside a unit.
_ANYTHING = frozenset(
    {"description", "item", "bezeichnung", "libellé", "désignation", "descrizione", "leistung"}
)
# What speaks for a lab report: units in cells of their own (a paper has them in sentences), names of tests or ranges.
CELLS_MIN, CELL_CHARS_MAX, TESTS_MIN = 3, 30, 3
NAMES_MIN, CELLS_MAX = 4, 2000
_BELOW = re.compile(r"[<≤] ?[0-9][0-9.,]*")
BELOW_MIN = 2  # results below a limit of reporting
LIMITS_MIN, MEASURES_MIN = 5, 6  # below headings, where the names of tests are not known
NEAR_HEADINGS = 6  # of a sheet, from that of the tests on
_LETTERS = frozenset("SIR")
_LIMITS = re.compile(
    r"\s*[\[(]?[0-9]+(?:[.,][0-9]+)?\s*(?:-|–|à|to|bis)\s*[0-9]+(?:[.,][0-9]+)?[\])]?\s*"
)
_ORDINALS = re.compile(
    r"\s*(?:neg(?:ative?|ativ|ativo|ativa|atif)?|pos(?:itive?|itiv|itivo|itiva|itif)?|non[- ]reactive|reactive|"
    r"not detected|n[ée]gatif|no reactivo|nicht nachweisbar|[1-4]\+)\.?\s*",
    re.IGNORECASE,
)
_UNITS = re.compile(
    r"\b(?:[mµu]?mol/l|[mµunp]?g/(?:dl|ml|l)|[mµk]?I?U/(?:l|ml)|mm/h|fl|pg)\b|10[\^*]?\d+/(?:u|µ)?l|[GT]/l\b"
    r"|\b(?:м?м?к?моль|м?к?г|м?Ед|тыс|млн)/(?:д|м|мк)?л\b",
    re.IGNORECASE,
)
# Where blanks are lost, no cell stands by itself: results with their units, of which a paper has few.
_GLUED = re.compile(
    r"[0-9)][HLN*+-]?(?:high|low|normal)?(?:[mµu]?mol/l|(?:mc|[mµunp])?g/(?:dl|ml|l)|[mµk]?(?:I?U|UI)/(?:l|ml)|fl|pg|%"
    r"|[x*]?10[\^*][0-9]+/[uµ]?l|[GT](?:iga|era)?/l|[^\W\d]{3,8}/mm)",
    re.IGNORECASE,
)
GLUED_MIN = 5
_RANGES = re.compile(
    r"\b(?:reference|ref\.?|referenz|normal|norm|biological ref\w*)[-\s.]*(?:range|interval|bereich|values?|werte?)\w*"
    r"|valeurs? (?:de r[eé]f|usuelles|normales)|(?:valores|rango|intervalo) de ref|valori di rif|referentie|referens"
    r"|standard values?\b|референсн|zakres|normbereich|ref\.\s?-?\s?(?:range|int|bereich)",
    re.IGNORECASE,
)
_TESTS = re.compile(
    r"h[ae]?[eéä]mo(?:glo|gra)|leu[ck]o[cz]|erythro[cz]|\bplatelets\b|thrombo[cz]|[ck]reatinin|gl[iuy][ck]os|[ck]holester|"
    r"triglycer|bilirubin|\bTSH\b|ferritin|\bCRP\b|potassium|\bkalium|sodium\b|natrium|h[aä]matokrit|h[eé]matocrit|glucemia|"
    r"plaquettes|\bHbA1c\b|\bA[SL]T ?\(|anti-?(?:body|bodies|nuclear)|rheumatoid factor|complement c[34]|\bIg[AEGM]\b|"
    r"гемоглобин|гематокрит|лейкоцит|эритроцит|тромбоцит|креатинин|глюкоз|холестерин|билирубин|ферритин",
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
        return OWN_FORMAT if _OBX.search(head) else BY_HEADER
    if found == FHIR:
        return OWN_FORMAT if _FHIR.search(head) else 0
    if found == CCDA:
        return OWN_FORMAT if _CDA.search(head) else 0
    if found == CSV:
        return TABLE if _is_table(head) else 0
    if found == XLSX:
        return TABLE if _is_sheet(first_texts(content.path)) else 0
    if found == PDF and any(map(_is_report, peeked_texts(content.path))):
        return BY_WORDS
    return BY_NAME if found == PDF and _NAMES.search(content.name) else 0


def _is_report(text: str) -> bool:
    # In monospaced print a line is one text, and its cells stand some blanks apart.
    cells = [cell for cell in re.split(r"\n| {2,}", text) if len(cell) <= CELL_CHARS_MAX]
    tests = {found[0].casefold() for found in _TESTS.finditer(text)}
    is_named = len(tests) >= TESTS_MIN or (tests and _RANGES.search(text))
    if is_glued(text):
        return bool(tests) and len(_GLUED.findall(text)) >= GLUED_MIN
    units = sum(map(bool, map(_UNITS.search, cells)))
    return (
        (bool(is_named) and units >= CELLS_MIN)
        or _lists_tests(cells, units, has_ranges=_RANGES.search(text) is not None)
        or _has_headings(cells)
    )


def _has_headings(cells: list[str]) -> bool:
    """Whether cells name the columns of a lab report, as those of a CSV do, and others are units."""
    from stateward.pipelines.labs.units import is_measure
    from stateward.pipelines.labs.words import column_of

    told = [cell.strip() for cell in cells[:CELLS_MAX]]
    limits = sum(map(bool, map(_LIMITS.fullmatch, told)))
    if sum("/" in cell or "%" in cell for cell in told) < CELLS_MIN and limits < LIMITS_MIN:
        return False  # the tables are not loaded for any other document
    found = {column_of(cell) for cell in told}
    is_limited = {"test", "value", "range"} <= found and limits >= LIMITS_MIN
    has_samples = any(
        column_of(cell) == "test" and cell.casefold() not in _ANYTHING for cell in told
    )
    has_samples = has_samples and "unit" in found and sum(map(is_measure, told)) >= MEASURES_MIN
    is_headed = "test" in found and len(found & {"value", "unit", "range", "high"}) > 1
    is_measured = sum(map(is_measure, told)) >= CELLS_MIN
    is_worded = {"test", "value"} <= found and sum(
        map(bool, map(_ORDINALS.fullmatch, told))
    ) >= CELLS_MIN
    is_told = (is_headed and is_measured) or is_worded or is_limited or has_samples
    return is_told and not any(map(_MONEY.search, told))


def _lists_tests(cells: list[str], units: int, *, has_ranges: bool) -> bool:
    """Whether cells are names of tests by the tables of the reader, with units, ranges or results in words."""
    letters = sum(cell.strip() in _LETTERS for cell in cells)
    words = sum(map(bool, map(_ORDINALS.fullmatch, cells)))
    if has_ranges:  # as a heading, too: a paper has intervals of confidence
        units += sum(map(bool, map(_LIMITS.fullmatch, cells)))
    if max(units, letters, words) < CELLS_MIN:
        return False  # the tables are not loaded for any other document
    from stateward.pipelines.labs.analytes import by_antibiotic, is_name

    names = {
        cell.strip().casefold() for cell in cells[:CELLS_MAX] if re.search(r"[^\W\d]{2}", cell)
    }
    if letters >= CELLS_MIN and sum(bool(by_antibiotic(name).code) for name in names) >= NAMES_MIN:
        return True
    return max(units, words) >= CELLS_MIN and sum(map(is_name, names)) >= NAMES_MIN


def _is_table(head: bytes) -> bool:
    """Whether one of the first lines names a test and two of its result, unit, range and code, and no money.

    A table of several days has dates where others have the heading of the result.
    """
    codec = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    lines = head.decode(codec, "replace").splitlines()
    for at, line in enumerate(lines[:LINES_MAX]):
        for delimiter in ";,\t|":
            cells = (
                next(csv.reader([line], delimiter=delimiter), [])
                if line.count(delimiter) > 1
                else []
            )
            if _are_tests(cells):
                return True
            below = [*csv.reader(lines[at + 1 : at + 1 + LINES_MAX], delimiter=delimiter)]
            if _has_samples(cells, [*csv.reader(lines[: at + 1 + LINES_MAX], delimiter=delimiter)]):
                return True
            if _are_headings(cells) or _has_results(cells, below):
                return not _is_log(cells, below)
    return False


def _is_sheet(texts: list[str]) -> bool:
    """Whether texts of a spreadsheet, which follow one another without their rows, hold such headings together."""
    from stateward.pipelines.labs.words import column_of_cell

    runs = (
        list(run)
        for is_heading, run in groupby(
            texts, lambda text: bool(column_of_cell(text) or _DAY.fullmatch(text))
        )
        if is_heading
    )
    is_headed = any(map(_are_headings, runs)) or _lists_samples(texts)
    return is_headed and not any(map(_MONEY.search, texts))


def _lists_samples(texts: list[str]) -> bool:
    """Whether headings name a test and a unit near each other, and cells are units: results have a column a sample."""
    from stateward.pipelines.labs.units import is_measure
    from stateward.pipelines.labs.words import column_of_cell

    # A workbook keeps each text once, whatever the number of its cells: one unit may be that of all rows.
    below = sum(_BELOW.fullmatch(text) is not None for text in texts)
    if not any("/" in text for text in texts):
        return False
    roles = ["" if text.casefold() in _ANYTHING else column_of_cell(text) for text in texts]
    near = [
        at for at, role in enumerate(roles)
        if role == "test" and "unit" in roles[at : at + NEAR_HEADINGS]
    ]  # fmt: skip
    units = sum(map(is_measure, texts))
    return bool(near) and (units >= CELLS_MIN or (units > 0 and below >= BELOW_MIN))


def _has_samples(cells: list[str], rows: Sequence[list[str]]) -> bool:
    """Whether headings name a test and a unit and no result, and there are columns of samples."""
    from stateward.pipelines.labs.table import find_columns
    from stateward.pipelines.labs.words import column_of

    if not {"test", "unit"} <= {column_of(cell) for cell in cells} or any(
        map(_MONEY.search, cells)
    ):
        return False
    _, columns = find_columns(rows)
    return columns is not None and bool(columns.samples)


def _are_headings(cells: list[str]) -> bool:
    from stateward.pipelines.labs.words import column_of_cell

    roles = {cell.strip().casefold(): column_of_cell(cell) for cell in cells}
    found = {*roles.values()}
    tests = {name for name, role in roles.items() if role == "test"}
    if "unit" not in found:
        tests -= _ANYTHING
    if not tests or len(found & {"value", "unit", "range", "code"}) < 2:
        return False
    is_result = "value" in found or any(map(_DAY.match, cells))
    return is_result and not any(map(_MONEY.search, cells))


def _has_results(cells: list[str], below: Iterable[list[str]]) -> bool:
    """Whether headings name results, units and ranges, and a column without a known heading holds names of tests."""
    from stateward.pipelines.labs.words import column_of

    if not {"value", "unit", "range"} <= {column_of(cell) for cell in cells}:
        return False
    from stateward.pipelines.labs.table import find_columns

    is_money = any(map(_MONEY.search, cells))
    return not is_money and find_columns([cells, *below])[1] is not None


def _is_log(cells: list[str], below: Iterable[list[str]]) -> bool:
    """Whether a table is of a production: laboratories count batches too, but of tests that are done on people."""
    from stateward.pipelines.labs.words import is_of_production

    if not is_of_production(cells):
        return False
    from stateward.pipelines.labs.table import is_of_people

    return not any(is_of_people(cell) for row in below for cell in row)


def _are_tests(cells: list[str]) -> bool:
    """Whether headings are tests with their units, beside a patient or a date: `Hemoglobin (g/dL)`."""
    # A name before the bracket: `(INR)` below another heading is a currency.
    if sum(cell.find("(") > 0 or cell.find("[") > 0 for cell in cells) < TESTS_MIN:
        return False
    if any(map(_MONEY.search, cells)):
        return False
    from stateward.pipelines.labs.table import find_test_columns, is_of_people
    from stateward.pipelines.labs.words import column_of

    is_dated = any(column_of(cell) in ("patient", "collected") for cell in cells)
    columns = find_test_columns([cells])[1] if is_dated else None
    if columns is None or not (columns.has_unsure_codes and columns.has_other_columns):
        return columns is not None
    return any(is_of_people(cell) for cell in cells)

"""Which format a file has, by its content, before it is accepted.

Nothing is parsed, and nothing is inflated but the bounded starts of a PDF's first streams.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.dates import MONTHS, fold
from stateward.pipelines.kit.delimited import first_rows
from stateward.pipelines.kit.pdf.peek import Peek, amounts_of, is_glued, is_thin, peek
from stateward.pipelines.statements.day_parts import named_parts
from stateward.pipelines.statements.heading_parts import role_by_parts
from stateward.pipelines.statements.headings import HEADING_CHARS_MAX, simplify, without_unit, words
from stateward.pipelines.statements.sniff import sniff
from stateward.pipelines.statements.source import Bounds, Hints, Source

# By format. A table of any kind may be a statement, so that a pipeline that knows its tables better is believed first.
SOURCE_TYPES = {
    "pdf": "bank_pdf", "csv": "bank_csv", "sheet": "bank_xlsx", "ofx": "bank_ofx", "qif": "bank_qif",
    "mt940": "bank_mt940", "camt": "bank_camt", "bai2": "bank_bai2", "coda": "bank_coda",
    "norma43": "bank_norma43", "cnab240": "bank_cnab240", "one_c": "bank_1c", "html": "bank_html",
    "picture": "bank_scan",
}  # fmt: skip
CONFIDENCES = {"pdf": 22, "csv": 20, "sheet": 20, "html": 5, "picture": 5}
# A page under the name of a spreadsheet: only downloads of banks and shops are that.
SAVED_AS_SHEET = 60
OWN_FORMAT = 95  # only banks write these
# A table with headings that lacks dates or amounts: below what research data says of any table.
UNLIKELY = 5
# One row names a date and both sides of an account: above what units in headings say ("Net Debit (NC)" has none).
LIKELY = 35
# One row names a date, an amount and a text or a balance: above what a column of fine numbers says, below units.
NAMED = 26
# A text without headings, of which a line begins with a day, names something and ends with an amount: above a letter.
BOOKED = 25
_BOOKED_LINE = re.compile(
    r"\W*\d{1,4}[./ -](?:\d{1,2}|[^\W\d_]{3,4}\.?)[./ -].{0,160}[^\W\d_]{3}.{0,160}"
    r"\d[.,]\d\d\W{0,3}\s*[A-Za-z]{0,3}\W*$"
)
LINES_SEEN = 60  # of a table; banks print up to a page of notes above the headings
DATE_ROLES = frozenset({"date", "date_plain", "value_date"})
MONEY_ROLES = frozenset({"amount", "debit", "credit", "balance"})
SIDES = frozenset({"debit", "credit"})
WORD_ROLES = frozenset({"description", "description_weak", "counterparty"})
# With two signs between its numbers, or a slash; a decimal number has neither.
_DATE = re.compile(
    r"\d{1,4}\s?[./:\-年년]\s?\d{1,2}\s?[./:\-月월]|(?<![\d/])\d{1,2}/\d{1,2}(?!\d)|(?<!\d)(?:19|20)\d{6}(?!\d)"
)
_CENTS = re.compile(r"[^\w]*(?:[A-Za-z]{1,3}\s?)?[-+]?[\d.,' ]*\d[.,]\d\d\D{0,5}")
# What is longer is no amount, and would keep the pattern above busy while an upload waits.
AMOUNT_CHARS_MAX = 40
_WORD = re.compile(r"[^\W\d_]+")
_FIGURE = re.compile(r"\W*\d")
# A text that shows so many words shows its amounts, too; one that shows fewer may be set in a font without letters.
PDF_WORDS_MIN, PDF_AMOUNTS_MIN = 30, 2
# Letters of any font: a heading, one row with its day and amount, and a balance are more than that.
PDF_LETTERS_MIN = 150
_PDF_WORD = re.compile(r"[^\W\d_]{3,}")
PDF_MIXED = 0.1  # of the words with digits in them, where letters are those of another font
PDF_BILL_WORDS_MIN = 12
PDF_TITLE_CHARS = 400  # in which a bill calls itself one; further on it may be what was paid
# A minus at its figure, or a cell that begins with one; a dash between words and prices, or two prices, is none.
_PDF_SIGNED = re.compile(
    r"(?m)(?:^[-−–]\s?|(?<![\w.,])[-−–])(?:[A-Z€$£¥]{1,3}\s?)?\d[\d.,' \u00a0]{0,14}[.,]\d\d(?!\d)"
    r"|\d[.,]\d\d ?[-−–](?! ?[\d\w])"
)
_PDF_BILL = re.compile(
    r"\b(?:invoice|rechnung\w*|facture|factura|fattura|factuur|faktura|quote|quotation|angebot|offerte|devis|"
    r"pro[- ]?forma|receipt|quittung|price list|preisliste|tarifs?)\b",
    re.IGNORECASE,
)
# A tax on what was sold, with its rate or amount: a bill names it, and a statement of an account does not.
_PDF_SALES_TAX = re.compile(
    r"\b(?:vat|gst|umsatzsteuer|ust|mwst|mehrwertsteuer|tva|iva|btw|moms|alv|dph|pdv|kdv|sales tax)\b"
    r"[^\d\n]{0,12}\n?\d",
    re.IGNORECASE,
)
_PDF_TOTAL = re.compile(
    r"(?m)^[^\w\n]{0,8}(?:grand )?(?:total[et]?|summe|gesamt(?:betrag)?|totaal|summ?a|yhteens[aä]|toplam)\b",
    re.IGNORECASE,
)
PDF_RECEIPT_DAYS_MAX = 2
# What an employer pays is told with amounts, too, and its reader would find no bookings in it.
_PDF_PAY = re.compile(
    r"\bpay ?slip|\bpay ?stub|(?:gehalts|lohn|entgelt)abrechnung|bulletin de (?:paie|salaire)|\bn[oó]mina\b|busta paga"
    r"|loonstrook",
    re.IGNORECASE,
)
_PDF_CARD = re.compile(
    r"karte|\bcard|\bkort|\bcarte|tarjeta|\bcarta\b|\bvisa\b|mastercard", re.IGNORECASE
)
_PDF_BALANCE = re.compile(
    r"balance|saldo|solde|kontostand|bakiye|zostatek|zůstatek|egyenleg|υπόλοιπο|\bsold\b|payment received",
    re.IGNORECASE,
)
# Prose has these words, too ("wir haben", "a direct debit"); a cell of a word or two is the heading of an account.
_PDF_COLUMN = re.compile(
    r"(?m)^[^\w\n]{0,8}(?:\w{1,30}[^\w\n]{1,8})?(?:transa[ck]\w*|ums[aä]tze?|buchungs?\w*|mouvem\w*|movim\w*|operac\w*|sorties|entr[ée]es|"
    r"uscite|entrate|ausg[aä]nge?|eing[aä]nge?|stand|soll|haben|withdraw\w*|deposits?|debits?|credits?|statement)[^\w\n]{0,8}$",
    re.IGNORECASE,
)
_PDF_ANY_DAY = re.compile(
    r"(?<![\d.,])\d{1,4}[./-]\d{1,2}[./-](?:\d{4}|\d{2})?(?!\d)|(?<![\d/])\d{1,2}/\d{1,2}(?![\d/])"
)
# EXTRACTO DE AGOSTO 2024: of a month, as nothing but a statement is.
_PDF_OF_MONTH = re.compile(
    r"\b(?:extracto|extrato|estratto|releve|statement|kontoauszug|rekeningafschrift|kontoutdrag|kontoutskrift|tiliote)"
    r"(?: [a-z]{2,3}){0,2} ([a-z]{3,12}) 20[0-9]{2}\b"
)
_PDF_WORDED_DAY = re.compile(
    r"(?<![\d.,])\d{1,2}\.?[ -](?=([^\W\d_]{3,10})\b)|\b([^\W\d_]{3,10})(?=\.? \d{1,2}(?![\d.,]))"
)
_PDF_SIDES = tuple(
    (re.compile(rf"\b{out}", re.IGNORECASE), re.compile(rf"\b{into}", re.IGNORECASE))
    for out, into in (
        ("sorties", "entr[ée]es"), ("uscite", "entrate"), ("ausg[aä]ng", "eing[aä]ng"), ("soll\\b", "haben\\b"),
        ("withdraw", "deposit"), ("debit", "credit"),
    )
)  # fmt: skip
# A line of prose: words in small letters, which a row has few of. What is longer is a page without its lines.
PROSE_WORDS_MIN, PROSE_CHARS_MAX = 4, 250
DAY_CHARS = 12  # in which a row names its day
PROSE_SHARE = 0.5  # of a text that is prose: the rest are headings, names and places
_PROSE_WORD = re.compile(r"[^\W\d_]{2,}")
_PROSE_END = re.compile(r"[.;:!?][\"')\]]?$")
# What a row has and a sentence has not: columns, a day before all else, one amount beside the other.
_PDF_ROW = re.compile(
    r"\S {2,}\S|^\W*\d{1,4}[./-](?:0?[1-9]|[12]\d|3[01])(?!\d)|\d[.,]\d\d[^\w\n]{1,4}(?:[A-Z]{3} ?)?\d"
)
# One row without a heading: a line begins with a day, something is named behind it, and an amount ends it.
_PDF_ONE_ROW = re.compile(
    r"(?m)^\W{0,3}\d{1,4}[./ -](?:\d{1,2}|[^\W\d_]{3,4}\.?)(?:[./ -]\d{2,4})?\s[^\d\n]{0,40}[^\W\d_]{3}"
    r"(?:.|\n(?!\n)){0,80}?[\s+-]\d[\d.,' ]{0,12}[.,]\d\d\W{0,3}[A-Za-z]{0,3}\W*$"
)
PDF_DAYS_MIN = 3
_PDF_DAY = re.compile(
    r"(?m)^\s*(?:\d{1,4}\s?[./\-年년]\s?\d{1,2}(?:\s?[./\-月월]\s?\d{1,4}|(?=[/\s]|$))|\d{1,2}[ -][^\W\d_]{3,4}\b)"
)
_PDF_GROUPED = re.compile(
    r"(?m)(?<![\d.,])\d{1,3}(?:[.,'\u00a0 ]\d{3}){1,4}(?:[.,]\d{1,3})?\s?[^\W\d]{0,3}-?\s*$"
)


def detect(content: Content) -> Detected:
    """A statement of some format; a refusal with its sentence if it is none that is read."""
    source = Source(content.path, Hints(), Bounds(), head=content.head)
    found = sniff(source, is_inflating=False)
    confidence = CONFIDENCES.get(found, OWN_FORMAT)
    if found == "html" and content.name.lower().endswith((".xls", ".xlsx")):
        confidence = SAVED_AS_SHEET
    if found == "csv" and content.is_compared:  # of all formats the dearest to look at
        confidence = _table_confidence(source)
    if found == "pdf" and _is_other(peek(content.path)):
        confidence = UNLIKELY
    return Detected(
        source_type=SOURCE_TYPES.get(found, "auto"),
        format=found,
        confidence=confidence,
    )


def _table_confidence(source: Source) -> int:
    """How likely a table is a statement: by its headings, and by dates and amounts in its first lines."""
    text = source.head.decode(source.encoding, "ignore").lstrip("\ufeff")
    lines = [line for line in text.splitlines() if line.strip()][:LINES_SEEN]
    rows = first_rows(lines)
    usual = CONFIDENCES["csv"]
    if not rows or len(rows[0]) < 2 or any(cell[:1].isdigit() for cell in rows[0]):
        return BOOKED if any(map(_BOOKED_LINE.match, lines)) else usual
    # A row with figures has no headings, and its texts are others in each file: to look at them costs an upload 1 ms.
    roles = [_roles(row) for row in rows if not any(map(_FIGURE.match, row))]
    if any(map(_names_account, roles)):
        return LIKELY
    if any(map(_names_booking, roles)):
        return NAMED
    is_dated = any(map(_DATE.search, lines)) or _has_month(lines[1:])
    if is_dated and _has_cents(rows[1:]):
        return usual
    found = frozenset[str]().union(*roles)
    return usual if (is_dated or found & DATE_ROLES) and found & MONEY_ROLES else UNLIKELY


def _names_account(roles: frozenset[str]) -> bool:
    """Whether one row names a date and both sides of an account, or an amount, its currency and what it was for."""
    is_worded = bool(roles & WORD_ROLES) and {"amount", "currency"} <= roles
    return bool(roles & DATE_ROLES) and (roles >= SIDES or is_worded)


def _names_booking(roles: frozenset[str]) -> bool:
    """Whether one row names a date, an amount, and what it was for or the balance; a rate may stand beside them."""
    is_told = bool(roles & WORD_ROLES) or "balance" in roles
    return is_told and "amount" in roles and bool(roles & DATE_ROLES)


def _roles(row: Sequence[str]) -> frozenset[str]:
    """The roles that a row names: by whole headings, because to look for similar ones takes too long here."""
    named = words().columns
    found = set[str]()
    for cell in row:
        if len(cell) <= HEADING_CHARS_MAX:
            bare = simplify(without_unit(cell))
            found |= {named.get(simplify(cell), ""), named.get(bare, ""), role_by_parts(bare)}
    if named_parts(row):
        found.add("date")
    return frozenset(found - {""})


def _is_other(shown: Peek) -> bool:
    """Whether a PDF shows that it is no statement: legible words, and no amounts, or only those of a bill.

    A statement that is taken for something else is lost in silence; anything else that is taken for a statement is
    refused by its reader. So what cannot be read here, or calls itself a statement, is left to that reader.
    """
    if any(_has_dated_figures(text) and not _is_taxed_bill(text) for text in shown.texts):
        return False
    if _is_told_in_prose(shown):
        return True
    if any(map(_is_titled, shown.texts)):
        return False
    if any(map(_is_payslip, shown.texts)):
        return True
    if any(len(amounts_of(text)) >= PDF_AMOUNTS_MIN for text in shown.texts):
        return any(map(_is_bill, shown.texts))
    if any(map(_is_worded, shown.texts)):
        return True
    if not shown.is_whole or max(map(len, shown.texts)) >= PDF_LETTERS_MIN:
        return False
    return not any(_PDF_ONE_ROW.search(text) and not _is_bill(text) for text in shown.texts)


def _is_worded(text: str) -> bool:
    return len(_PDF_WORD.findall(text)) >= PDF_WORDS_MIN and _is_legible(text)


def _is_told_in_prose(shown: Peek) -> bool:
    """Whether all is seen, most of it is prose, and no amounts, days or title of a statement stand outside of that.

    Minutes name what was paid, a balance and the bank statement that was shown, and have no table.
    """
    if not shown.is_whole:
        return False
    is_prose = False
    for text in shown.texts:
        rest = _without_prose(text)
        rows = max(len(amounts_of(rest)), len(_PDF_GROUPED.findall(rest)))
        if rows >= PDF_AMOUNTS_MIN or len(_PDF_DAY.findall(rest)) >= PDF_DAYS_MIN:
            return False
        if _is_titled(rest):
            return False
        is_prose = is_prose or (len(rest) <= (1 - PROSE_SHARE) * len(text) and _is_worded(text))
    return is_prose


def _without_prose(text: str) -> str:
    """The lines that are no part of sentences. One that neither ends as they do nor goes on below is a heading."""
    lines = [line.strip() for line in text.splitlines()]
    rest: list[str] = []
    is_open = False  # the line before is one of a sentence that goes on
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        is_end = _PROSE_END.search(line) is not None
        is_told = _is_prose_line(line) and (
            is_end or is_open or below[:1].islower() or _is_prose_line(below)
        )
        # The last line of a paragraph may be short.
        is_told = is_told or (is_open and is_end and line[:1].islower())
        if not is_told:
            rest.append(line)
        is_open = is_told and not is_end
    return "\n".join(rest)


def _is_prose_line(line: str) -> bool:
    if len(line) > PROSE_CHARS_MAX or _PDF_ROW.search(line) or _PDF_SIGNED.search(line):
        return False
    if any(fold(a or b) in MONTHS for a, b in _PDF_WORDED_DAY.findall(line[:DAY_CHARS])):
        return False
    return sum(map(str.islower, _PROSE_WORD.findall(line))) >= PROSE_WORDS_MIN


def _is_titled(text: str) -> bool:
    """Whether it calls itself a statement; blanks may be missing where letters are set one by one."""
    simple = simplify(text)
    if any(fold(month) in MONTHS for month in _PDF_OF_MONTH.findall(simple)):
        return True
    bare = simple.replace(" ", "")
    return any(title in bare for title in words().titles)


def _is_legible(text: str) -> bool:
    """Whether words are whole: not glued together, and not of a font whose letters were taken for those of another."""
    tokens = [token for token in text.split() if any(map(str.isalpha, token))]
    mixed = sum(any(map(str.isdigit, token)) for token in tokens)
    return not is_glued(text) and mixed <= PDF_MIXED * len(tokens)


def _is_payslip(text: str) -> bool:
    """Whether a text calls itself a pay slip at its start; an account that was paid one has a balance, or days."""
    if _PDF_BALANCE.search(text) or len(_PDF_DAY.findall(text)) >= PDF_DAYS_MIN:
        return False
    return _PDF_PAY.search(text[:PDF_TITLE_CHARS]) is not None


def _is_bill(text: str) -> bool:
    """Whether amounts are those of a bill, a list of prices or a letter, and not those of an account.

    Rows of a statement begin with a day, or their amounts have signs; what a bill lists has neither, unless it says
    what it is and what tax is in it. A letter names an amount here and there.
    """
    if _PDF_BALANCE.search(text) or _PDF_COLUMN.search(text):
        return False
    if _is_till_receipt(text) or _is_taxed_bill(text):
        return True
    if not _is_legible(text):
        return False
    is_titled = _PDF_BILL.search(text[:PDF_TITLE_CHARS]) is not None
    if len(_PDF_SIGNED.findall(text)) >= 2 or len(_PDF_DAY.findall(text)) >= PDF_DAYS_MIN:
        return False
    if is_thin(text):
        return True
    if _names_both_sides(text):
        return False
    days, amounts = _count_days(text), len(amounts_of(text))
    is_few = days < amounts if is_titled else days < 2
    return is_few and len(_PDF_WORD.findall(text)) >= PDF_BILL_WORDS_MIN


def _is_taxed_bill(text: str) -> bool:
    """Whether it calls itself a bill, names the tax in it, and has neither a balance nor the columns of an account.

    The numbers of a customer and a meter may be in groups of three, and the periods of a bill for power are days.
    """
    if _PDF_BALANCE.search(text) or _PDF_COLUMN.search(text) or not _is_legible(text):
        return False
    title = text[:PDF_TITLE_CHARS]
    is_titled = _PDF_BILL.search(title) is not None and not _PDF_CARD.search(title)
    return is_titled and _PDF_SALES_TAX.search(text) is not None


def _is_till_receipt(text: str) -> bool:
    """Whether it names a total and the tax in it, and no more than one day beside that of another purchase.

    Its words are mixed with figures (MILK 2L, BA10 0AA), so that they do not tell of what font they are.
    """
    is_taxed = _PDF_SALES_TAX.search(text) and _PDF_TOTAL.search(text)
    return bool(is_taxed) and _count_days(text) <= PDF_RECEIPT_DAYS_MAX


def _count_days(text: str) -> int:
    worded = sum(
        fold(before or behind) in MONTHS for before, behind in _PDF_WORDED_DAY.findall(text)
    )
    return worded + len(_PDF_ANY_DAY.findall(text))


def _names_both_sides(text: str) -> bool:
    """Whether money that goes out and money that comes in are both named."""
    return any(out.search(text) and into.search(text) for out, into in _PDF_SIDES)


def _has_dated_figures(text: str) -> bool:
    """Whether what is shown begins with a date again and again, and ends with a figure in groups of three as often.

    Such are the cells and lines of a table of amounts in a currency without decimals, or with three.
    """
    days = len(_PDF_DAY.findall(text))
    return days >= PDF_DAYS_MIN and len(_PDF_GROUPED.findall(text)) >= days


def _has_month(lines: Sequence[str]) -> bool:
    return any(fold(word) in MONTHS for line in lines for word in _WORD.findall(line))


def _has_cents(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has two decimals wherever it has anything."""
    columns = zip_longest(*rows, fillvalue="")
    filled = ([cell for cell in column if cell.strip()] for column in columns)
    return any(cells and all(map(_is_of_cents, cells)) for cells in filled)


def _is_of_cents(cell: str) -> bool:
    return len(cell) <= AMOUNT_CHARS_MAX and _CENTS.fullmatch(cell) is not None

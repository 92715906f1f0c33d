"""What a statement prints outside its rows: balances, totals, period, account, and whether it is of a card.

A value is behind its label on the same line, or below it. Nothing is chosen here: every balance is kept, and the
arithmetic of the rows decides which ones are opening and closing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from stateward.pipelines.kit import dates
from stateward.pipelines.kit.money import CURRENCY_CODES, EXPONENTS, SYMBOLS, read_amount
from stateward.pipelines.kit.pdf.lines import PdfCell, cells_of
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.rows import DATED, PrintedFact, as_debt
from stateward.pipelines.statements.pdf.tokens import (
    StatementLine,
    WordSpan,
    dates_in,
    has_decimals,
)
from stateward.pipelines.statements.period_order import PrintedPeriod

LABEL_WORDS_MAX = 12  # a line with more words is prose
TITLE_WORDS_MAX = 8
PERIOD_WORDS_MAX = 18
UNDER_LINES_MAX = 3
STACKED_GAP_MAX = 1.7  # of the height, between two lines of one label
UNDER_GAP_MAX = 3.2  # of the height, between a label and the value below it
IBAN_CHARS_MIN = 15  # those of Norway; shorter ones are numbers of taxes
ACCOUNT_DIGITS_MIN = 5  # fewer are the number of a branch or a page
OWN_NUMBER_MIN = 7  # characters of an account within its IBAN

# Amounts of a card statement that are no balances: minimum payment, limit, average.
_NO_BALANCE = re.compile(
    r"\b(?:minimum|minimal\w*|mindest\w*|minimo|minima|min|asgari|limit|available|disponib\w*|dispon[ií]vel|verf[uü]gbar\w*|past|average|overdue)\b"
)
_CREDITOR = re.compile(r"[A-Z]{2}[0-9]{2} ?ZZZ")
_IBAN = re.compile(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{2,4}){3,8}(?: ?[A-Z0-9]{1,3})?\b")
# Each letter by itself: groups of several can be cut in too many ways where dots lead from a label to its value.
_NUMBER = re.compile(r"(?:[0-9Xx*•.][- ]?){1,48}[0-9]{2,}")
_MONTH_YEAR = re.compile(r"([^\W\d_]{3,12})\.?,?\s(20[0-9]{2}|25[0-9]{2})\b")
# SETEMBRO/2026, enero de 2026: also in sentences about something else.
_MONTH_OF_YEAR = re.compile(r"([^\W\d_]{3,12})\.?(?:\s?[/-]\s?|\sdel?\s)(20[0-9]{2}|25[0-9]{2})\b")
STATEMENT_NAMES = frozenset(
    "extracto extrato estratto fatura factura resumen estado movimientos movimentos movimenti releve extrait statement "
    "account bank kontoauszug auszug abrechnung rekeningafschrift kontoudtog kontoutdrag kontoutskrift wyciag vypis "
    "conta cuenta conto compte konto mes periodo".split()
)
# Those that say by themselves that the days beside them are those of the rows.
PERIOD_NAMES = STATEMENT_NAMES - set("account bank conta cuenta conto compte konto".split())
_TITLES = PERIOD_NAMES - {"mes", "periodo", "estado"}  # that begin the line of a period
# Those that say it where no word beside them is unknown: also texts about something else have them.
_ROWS_NAMES = frozenset(
    "transaction transactions history activity range export umsatze umsatz umsatzanzeige umsatzliste buchungen"
    " kontobewegungen bewegungen zeitraum operations operaciones operazioni transacoes transacciones"
    " transacties mutaties operacje transakcje transaktioner bevegelser posteringer period account konto".split()
)
_PREPOSITIONS = frozenset(
    "from between and for of the your vom von und du desde del dal van od de des el le la les y e et per date datum"
    " data fecha ihr ihre mein meine votre mon su tu mi".split()
)
_ENDING = frozenset("period ending ended end nr no page seite blatt".split())
# What else is valid for some time: its days are none of the statement.
_OFFERS = re.compile(
    r"\b(?:offers?|promotion\w*|promo|introductory|voucher|warranty|campaign|ofertas?|promoci\w*|angebots?\w*"
    r"|gutschein\w*|offres?|offert\w*|promozion\w*|promoc\w*|aanbieding\w*|actie|erbjudande\w*|tilbud\w*"
    r"|kampan\w*|tarjous\w*|ofert\w*|promocj\w*|nabidk\w*|ajanlat\w*|акци[яи]|优惠|優惠|キャンペーン)\b"
)
_TERMS = re.compile(
    r"\b(?:valid\w*|gultig\w*|valable\w*|vigen\w*|geldig\w*|giltig\w*|gyldig\w*|platn\w*|wazn\w*|bonus|interest|rates?"
    r"|zins\w*|interes\w*|taux|tasso|tassi|tasas?|rente|loan|kredit|darlehen|pret|prestamo|prestito|insurance"
    r"|versicherung|assurance|seguro|contract|vertrag|contrat|contrato|card expires|warranty)\b"
)
# Where a letter was written, before its day: `Köln, den 28.02.2026`, `London, 28 February 2026`.
_WRITTEN_AT = re.compile(r"[^\W\d_][^\d,]{1,28},(?: (?:den|le|the|l[iì]|a|am|on|el))?")
# A date whose parts have names: `Jour 17 Mois 12 Année 2024`.
_NAMED_PARTS = re.compile(
    r"\b(?:jour|day|dia|tag|giorno|dag) (?P<day>[0-9]{1,2}) (?:mois|month|mes|monat|mese|maand) (?P<month>[0-9]{1,2})"
    r" (?:annee|year|ano|jahr|anno|jaar) (?P<year>20[0-9]{2})\b"
)
_FIGURES = re.compile(r"[0-9]+(?:[.,'’ ][0-9]+)*")
_GROUPED = re.compile(r"[-+]?[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+\b")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+|-?[0-9]{1,3}(?:\.[0-9]{3})+")
_BESIDE_AMOUNT = re.compile(r"[A-Z]{1,2}\$|[A-Z]{3}|[^\w\s.,'()+-]")
# An amount with its rate: `USD 45.52 @ 1.2713`, `45,00 USD Kurs 1,0845`.
_ABROAD = re.compile(
    r"@|\b[A-Z]{3} ?[0-9][0-9.,']* [^0-9]{0,12}[0-9]+[.,][0-9]{3,6}\b"
    r"|[.,][0-9]{2} ?[A-Z]{3} .{0,16}[0-9]+[.,][0-9]{3,6}\b"
)
_SHAPE = re.compile(r"[0-9]", re.ASCII)
_CENTS = re.compile(r"[.,][0-9]{2}\b")
_IN_LINE = re.compile(r"\b[A-Z]{3}\b|[€£₹฿₩₽₺]")
# Phrases that only card statements print: minimum payment, payment due date.
STRONG_CARD = (
    "minim", "mindest", "asgari", "due date", "lagsta belopp", "pago para no generar", "最低", "到期", "ขั้นต่ำ",
)  # fmt: skip


def facts_of(lines: Sequence[StatementLine], section: int) -> list[PrintedFact]:
    """Balances, totals and counts that lines print with a label."""
    found: list[PrintedFact] = []
    for at, line in enumerate(lines):
        found.extend(_line_facts(lines, at, line, section))
    return found


def _line_facts(
    lines: Sequence[StatementLine], at: int, line: StatementLine, section: int
) -> Iterator[PrintedFact]:
    cells = [part for cell in cells_of(line) for part in _cut_at_amounts(cell, line)]
    money = [token for token in line.money if _is_value(token)]
    labels = [(cell, *_stacked_label(lines, at, cell, line)) for cell in cells]
    for number, (cell, kind, phrase, date) in enumerate(labels):
        if not kind:
            continue
        ends = [other.x0 for other, other_kind, *_ in labels[number + 1 :] if other_kind]
        end = min(ends, default=float("inf"))
        value = _value_behind(money, cell, end, kind) or _value_under(lines, at, cell, kind)
        if value:
            value = (
                as_debt(value, vocab.simplify(cell.text))
                if kind not in vocab.TOTAL_LABELS
                else value
            )
            yield PrintedFact(kind, value, phrase, line.page, line.number, date, section)


def _cut_at_amounts(cell: PdfCell, line: StatementLine) -> Iterator[PdfCell]:
    """A cell in two or more where amounts stand between labels: `TOTAL PAID IN 40.00 TOTAL PAID OUT 7.00`."""
    ends = [
        token.x1
        for token in line.money
        if cell.x0 < token.x0 and token.x1 < cell.x1 - 1 and has_decimals(token.text)
    ]
    if not ends:
        yield cell
        return
    for start, end in pairwise([cell.x0, *ends, cell.x1]):
        words = [word for word in line.words if start - 0.1 <= word.x0 and word.x1 <= end + 0.1]
        if words:
            text = " ".join(word.text for word in words)
            yield PdfCell(text, words[0].x0, words[-1].x1)


def _stacked_label(
    lines: Sequence[StatementLine], at: int, cell: PdfCell, line: StatementLine
) -> tuple[str, str, str]:
    """The label of a cell, alone or with the cell below it: boxes print `Beginning` over `balance`."""
    found = _label(cell, line)
    if found[0] or line.money or at + 1 >= len(lines) or not any(map(str.isalpha, cell.text)):
        return found
    below = lines[at + 1]
    if below.page != line.page or below.base - line.base > STACKED_GAP_MAX * line.height:
        return found
    under = [each for each in cells_of(below) if min(each.x1, cell.x1) > max(each.x0, cell.x0)]
    if below.money or len(under) != 1:
        return found
    return _label_of(vocab.simplify(f"{cell.text} {under[0].text}"), "")


def _is_value(token: WordSpan) -> bool:
    return (
        has_decimals(token.text)
        or token.text.strip("-+()").isdigit()
        or "," in token.text
        or "." in token.text
        or "'" in token.text
        or bool(_GROUPED.match(token.text))
    )


def _label(cell: PdfCell, line: StatementLine) -> tuple[str, str, str]:
    """The kind of fact that a cell labels, the phrase, and the date in the cell."""
    words = [word for word in line.words if cell.x0 - 0.1 <= word.x0 <= cell.x1]
    text = vocab.simplify(cell.text)
    if len(words) > LABEL_WORDS_MAX:
        return "", "", ""
    found = dates_in(words)
    date = next((token.text for token in found if dates.has_year(token.text)), "")
    return _label_of(text, date)


# "Total credit line" is what may be borrowed, and no total of credits.
_LIMIT = re.compile(r"(?:line|limit|available|facility)\b")


def _label_of(text: str, date: str) -> tuple[str, str, str]:
    """The kind of fact that a simplified text labels, the phrase, and the date."""
    if _NO_BALANCE.search(text) or vocab.NOT_BOOKED.find(text):
        return "", "", ""
    opening, closing = (
        vocab.BALANCE_LABELS[kind].find(text) for kind in (vocab.OPENING, vocab.CLOSING)
    )
    if opening and closing and closing not in opening and opening not in closing:
        return "", "", ""  # a sentence of how they follow from one another
    # "Total payments and credits" is what came in, though "total payments" alone went out.
    totals = [(labels.find(text), kind) for kind, labels in vocab.TOTAL_LABELS.items()]
    phrase, total = max(totals, key=lambda each: len(each[0]))
    if phrase and not _LIMIT.match(text.partition(phrase)[2].strip()):
        return total, phrase, date
    for kind in (vocab.OPENING, vocab.CLOSING):
        if phrase := vocab.BALANCE_LABELS[kind].find(text):
            return kind, phrase, date
    if kind := vocab.made_balance(text):
        return kind, text, date
    if date and (phrase := vocab.DATED_BALANCES.prefix(text) or _dated_balance_in(text)):
        return DATED, phrase, date
    return "", "", ""


def _dated_balance_in(text: str) -> str:
    """The phrase of a dated balance further back in a label: `Your July balance as of Jul 31, 2026`."""
    phrase = vocab.DATED_BALANCES.find(text)
    return phrase if " " in phrase else ""  # a lone word may be of anything


def _value_behind(money: Iterable[WordSpan], cell: PdfCell, end: float, kind: str) -> str:
    """The first amount behind a label and before the next one; one with decimals if there is any."""
    found = [token for token in money if cell.x0 < token.x0 < end]
    if kind in _COUNTS:
        return next((token.text for token in found if token.text.isdigit()), "")
    for token in found:
        if has_decimals(token.text):
            return token.text
    return next(
        (
            token.text
            for token in found
            if (token.x0 > cell.x1 or _has_currency(token.text)) and not _is_year(token.text)
        ),
        "",
    )


def _has_currency(text: str) -> bool:
    """Whether a currency stands beside a number: then it is an amount, wherever it is printed."""
    read = read_amount(text) or read_amount(text, ",")
    return read is not None and bool(read.currency)


_COUNTS = (vocab.COUNT, vocab.DEBIT_COUNT, vocab.CREDIT_COUNT)


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit() and text[:2] in ("19", "20", "25")


def _value_under(lines: Sequence[StatementLine], at: int, cell: PdfCell, kind: str) -> str:
    """The amount below a label, as summaries in boxes print it."""
    for line in lines[at + 1 : at + 1 + UNDER_LINES_MAX]:
        if line.page != lines[at].page or line.base - lines[at].base > UNDER_GAP_MAX * line.height:
            return ""
        if found := _value_in_currency(line, cell):
            return found
        for token in line.money:
            is_under = min(token.x1, cell.x1) - max(token.x0, cell.x0) > 0
            is_sum = has_decimals(token.text) or _THOUSANDS.fullmatch(token.text)
            is_right = token.text.isdigit() if kind in _COUNTS else is_sum
            if is_under and is_right:
                return token.text
    return ""


def _value_in_currency(line: StatementLine, cell: PdfCell) -> str:
    """The amount of a line right below a label that says nothing but in what: `in EUR 99,00`."""
    sums = [token for token in line.money if has_decimals(token.text) and token.x0 > cell.x0]
    before = [w.text for w in line.words[: sums[0].start] if w.x0 >= cell.x0 - 1] if sums else []
    label = " ".join([*before, *sums[0].text.split()]) if sums else ""
    words = [word for word in vocab.simplify(label).split() if not word.isdigit()]
    is_bare = bool(words) and all(word == "in" or vocab.is_currency_alone(word) for word in words)
    return sums[0].text if len(sums) == 1 and is_bare and "in" in words else ""


# 20-11-45 is the number of a branch rather than a day, unless a label says what it is.
_SORT_CODE = re.compile(r"[0-9]{2}-[0-9]{2}-[0-9]{2}$", re.ASCII)
_BRANCH = re.compile(r"\b(?:sort ?code|branch(?: (?:code|number|no))?|bank code)$")


# 20260701-20260728, 01.07.2026-28.07.2026: two days in one word.
_DAY = (
    r"(?:(?:19|20)[0-9]{6}|[0-9]{1,2}[./][0-9]{1,2}[./](?:19|20)[0-9]{2}"
    r"|(?:19|20)[0-9]{2}[./][0-9]{1,2}[./][0-9]{1,2})"
)
_JOINED_DAYS = re.compile(rf"\b({_DAY})[-–—]({_DAY})\b", re.ASCII)


def period_of(lines: Sequence[StatementLine]) -> PrintedPeriod:
    """The labelled period; else two dates on one line; else the date of the statement.

    The lines come in the order of trust: those above the first table before those below it.
    """
    told = [(period, line) for line in lines if (period := _period_in(line))]
    # That of a rate or of a contract may be another year's.
    periods = [period for period, line in told if not _is_of_rate(line)]
    labelled = [period for period in periods if period.is_labelled]
    if labelled or periods:
        return (labelled or periods)[0]
    if found := _from_to(lines) or _month(lines, _MONTH_YEAR):
        return found
    day, is_named = _statement_date(lines)
    if told and not day:
        return told[0][0]
    found = None if day else _month(lines, _MONTH_OF_YEAR)
    if not (day or found) and (due := _due_day(lines)):
        return PrintedPeriod("", due, is_unnamed=True)
    if not (day or found) and (other := _other_day(lines)):
        return PrintedPeriod("", other, is_unnamed=True, is_of_other=True)
    return found or PrintedPeriod("", day, is_unnamed=bool(day) and not is_named)


def _is_of_rate(line: StatementLine) -> bool:
    """Whether a line calls its days by a rate or a contract, and not those of a statement about one."""
    label = vocab.simplify(re.split("[0-9]", line.text, maxsplit=1)[0])
    return bool(_TERMS.search(label)) and STATEMENT_NAMES.isdisjoint(label.split())


def tells_period(text: str, *, is_above: bool) -> bool:
    """Whether a line calls its days those of a statement, or has no other words than its days.

    Below the rows, where banks print what else they have to say, every word of it must be known.
    """
    simple = vocab.simplify(text)
    if is_of_terms(simple):
        return False
    words = {word for word in simple.split() if not any(map(str.isdigit, word))}
    label = vocab.PERIODS.find(simple)
    is_label = bool(words & PERIOD_NAMES) or label not in {"", *_PREPOSITIONS}
    if is_label and is_above:
        return True
    known = {*vocab.FROM_WORDS, *vocab.TO_WORDS, *_PREPOSITIONS, *STATEMENT_NAMES, *_ROWS_NAMES}
    known |= set(label.split())
    others = {word for word in words - known if dates.fold(word) not in dates.MONTHS}
    return not others and (is_label or is_above or bool(words & _ROWS_NAMES))


def is_of_terms(text: str) -> bool:
    """Whether a line is about an offer, a rate or a contract: its days are those in which that is valid."""
    simple = vocab.simplify(text)
    return bool(_OFFERS.search(simple) or _TERMS.search(simple))


# Two days of one month: June 01 - 28, 2026; 1 to 31 March 2025; 01.-31.03.2025.
_TO = r"\s?\.?\s?(?:-|–|—|to|bis|al|au|a|t\.?o\.?m)\s?"
_MONTH_DAYS = re.compile(
    rf"\b([^\W\d_]{{3,12}})\.?\s([0-9]{{1,2}}){_TO}([0-9]{{1,2}}),?\s(20[0-9]{{2}})\b"
)
_DAYS_MONTH = re.compile(
    rf"(?<![0-9./-])([0-9]{{1,2}}){_TO}([0-9]{{1,2}})\.?\s(?:de\s)?([^\W\d_]{{3,12}})\.?,?\s(?:de\s)?(20[0-9]{{2}})\b"
)


def _days_of_month(text: str) -> tuple[str, str] | None:
    """The first and the last day of a period within one month, which is named once."""
    if found := _MONTH_DAYS.search(text):
        month, first, last, year = found.groups()
    elif found := _DAYS_MONTH.search(text):
        first, last, month, year = found.groups()
    else:
        return None
    if dates.fold(month) not in dates.MONTHS or not int(first) < int(last) <= 31:
        return None
    return f"{first} {month} {year}", f"{last} {month} {year}"


def _period_in(line: StatementLine) -> PrintedPeriod | None:
    found = _full_days(line)
    text = vocab.simplify(line.text)
    if (len(line.words) > PERIOD_WORDS_MAX and _is_sentence(line)) or _is_of_offer(text):
        return None
    is_labelled = bool(vocab.PERIODS.find(text))
    found = _joined_pair(line, found) if len(found) > 2 else found
    if (
        len(found) == 2
        and found[1].start - found[0].end <= 3
        and (len(line.words) <= PERIOD_WORDS_MAX or is_labelled)
    ):
        if found[0].end == found[1].start and not is_labelled:
            return None  # a date and a value date
        return PrintedPeriod(found[0].text, found[1].text, is_labelled)
    if is_labelled and (joined := _JOINED_DAYS.search(line.text)):
        return PrintedPeriod(joined[1], joined[2], is_labelled=True)
    if (days := _days_of_month(line.text)) and (is_labelled or len(line.words) <= PERIOD_WORDS_MAX):
        return PrintedPeriod(*days, is_labelled)
    if len(found) == 1:
        return _half_year(line, found[0], is_labelled=is_labelled)
    return None


def _is_of_offer(text: str) -> bool:
    """Whether the days of a line are those of an offer: not those of a statement that has one in its name or behind."""
    if not _OFFERS.search(text):
        return False
    before = re.split("[0-9]", text, maxsplit=1)[0]
    if set(before.split()[:1]) & _TITLES:
        return False
    is_label = vocab.PERIODS.find(before) not in {"", *_PREPOSITIONS}
    return not is_label or bool(_OFFERS.search(before))


def _joined_pair(line: StatementLine, found: list[WordSpan]) -> list[WordSpan]:
    """Of several dates the first two with "to" or a dash between them; all where no two are joined."""
    for first, last in pairwise(found):
        between = vocab.simplify(" ".join(w.text for w in line.words[first.end : last.start]))
        is_joined = first.end < last.start and (not between or between in vocab.TO_WORDS)
        if is_joined:
            return [first, last]
    return found


def _is_sentence(line: StatementLine) -> bool:
    """Whether a line tells of some amount in prose: its dates are those of a fee or an offer."""
    is_ended = line.text.rstrip().endswith((".", "。"))
    return is_ended and any(has_decimals(token.text) for token in line.money)


def _half_year(line: StatementLine, last: WordSpan, *, is_labelled: bool) -> PrintedPeriod | None:
    """`1 March to 31 March 2025`: the first date has the year of the second."""
    before = [
        token for token in dates_in(line.words[: last.start]) if not dates.has_year(token.text)
    ]
    if not before or (not is_labelled and last.start - before[-1].end != 1):
        return None
    joiner = vocab.simplify(line.words[last.start - 1].text)
    if not is_labelled and joiner and joiner not in vocab.TO_WORDS:
        return None
    return PrintedPeriod(before[-1].text, last.text, is_labelled)


def _from_to(lines: Sequence[StatementLine]) -> PrintedPeriod | None:
    """First and last day on separate lines: `From: …` and `To: …`."""
    start = end = ""
    for line in lines:
        found = _full_days(line)
        if len(found) != 1 or len(line.words) > 8:
            continue
        words = set(vocab.simplify(line.text).split())
        if not start and words & vocab.FROM_WORDS:
            start = found[0].text
        elif start and not end and words & vocab.TO_WORDS:
            end = found[0].text
    is_period = bool(start and end) and _are_in_order(start, end)
    return PrintedPeriod(start, end, True) if is_period else None


def _are_in_order(first: str, last: str) -> bool:
    """Whether a day may stand before another one: a period does not end before it begins."""
    orders = dates.possible_orders(first) & dates.possible_orders(last)
    pairs = [(dates.read_date(first, order), dates.read_date(last, order)) for order in orders]
    known = [(start, end) for start, end in pairs if start is not None and end is not None]
    return not known or any(start <= end for start, end in known)


def _month(lines: Sequence[StatementLine], pattern: re.Pattern[str]) -> PrintedPeriod | None:
    """`March 2025` as a title: the whole month."""
    for line in lines:
        found = pattern.search(line.text)
        if not found:
            continue
        label = vocab.simplify(line.text[: found.start()]).split()
        is_labelled = bool(label) and bool(vocab.PERIODS.matches(label[-1]))
        words_max = PERIOD_WORDS_MAX if is_labelled else TITLE_WORDS_MAX
        # A title may stand beside others, far from them.
        words = next((c.text for c in cells_of(line) if found[0] in c.text), line.text).split()
        is_sentence = (
            pattern is _MONTH_OF_YEAR
            and not is_labelled
            and words
            and not (found[0].startswith(words[0]) or vocab.simplify(words[0]) in STATEMENT_NAMES)
        )
        if is_sentence or len(words) > words_max or _full_days(line):
            continue
        month = dates.MONTHS.get(dates.fold(found[1]))
        if month:
            year = int(found[2])
            year -= dates.BUDDHIST if year >= dates.BUDDHIST_FROM else 0
            last = 31 if month in (1, 3, 5, 7, 8, 10, 12) else 30 if month != 2 else 28
            return PrintedPeriod(f"{year}-{month:02}-01", f"{year}-{month:02}-{last}", True)
    return None


def _statement_date(lines: Sequence[StatementLine]) -> tuple[str, bool]:
    """The date of the statement, and whether a label calls it so; else any full date on a short line."""
    alone = ""
    for line in lines:
        if parts := _NAMED_PARTS.search(vocab.simplify(line.text)):
            return f"{parts['year']}-{int(parts['month']):02}-{int(parts['day']):02}", True
        full = _full_days(line)
        for day in full:  # whatever else stands beside the cell
            if vocab.STATEMENT_DATES.matches(vocab.simplify(_text_before(line, day))):
                return day.text, True
        if not full or len(line.words) > LABEL_WORDS_MAX or _is_balance(line):
            continue
        before = _text_before(line, full[0])
        simple = vocab.simplify(before)
        if _SINCE & set(simple.split()):
            continue  # the first day of the period: the rows come after it
        label = vocab.STATEMENT_DATES.find(vocab.simplify(line.text))
        names = STATEMENT_NAMES if label else PERIOD_NAMES
        known = {*label.split(), *vocab.PERIODS.find(simple).split(), *_PREPOSITIONS, *_ENDING}
        others = {word for word in simple.split() if not word.isdigit()} - known - names
        if label and (" " in label or not others):  # "date of birth" has "date"
            return full[0].text, True
        if others and _WRITTEN_AT.fullmatch(before) is None:
            continue  # the day of something else: an account, a birthday, terms
        alone = alone or next((each.text for each in full if not _SORT_CODE.match(each.text)), "")
    return alone, False


def _text_before(line: StatementLine, token: WordSpan) -> str:
    """What stands before a date in its own cell."""
    start = next((cell.x0 for cell in cells_of(line) if cell.x0 <= token.x0 <= cell.x1), 0.0)
    words = [word.text for word in line.words[: token.start] if word.x0 >= start - 0.1]
    return " ".join(words)


# Words before the first day of a period; "vom" also stands before the day of a statement.
_SINCE = frozenset("from vanaf seit since depuis desde fra från".split())
# The day on which a card is to be paid lies a few weeks after its rows, so it tells their year.
_DUE_DAY = re.compile(
    r"\b(?:due date|payment due|vencimento|vencimiento|fallig\w*|zahlbar bis|scadenza|echeance|vervaldatum|forfallo\w*"
    r"|forfald\w*|forfalls\w*|erapaiva)\b"
)


def _due_day(lines: Sequence[StatementLine]) -> str:
    """The first full date on a short line that calls it the day on which something is due."""
    short = (line for line in lines if len(line.words) <= LABEL_WORDS_MAX)
    called = (line for line in short if _DUE_DAY.search(vocab.simplify(line.text)))
    return next((day.text for line in called for day in _full_days(line)), "")


def _other_day(lines: Sequence[StatementLine]) -> str:
    """The first full date on a short line, though it is one of the customer or of a card."""
    short = (line for line in lines if len(line.words) <= LABEL_WORDS_MAX and not _is_balance(line))
    return next((day.text for line in short for day in _full_days(line)), "")


def _is_balance(line: StatementLine) -> bool:
    """Whether the dates of a line are those of a balance, which may be the one before the period."""
    return any(
        _label(cell, line)[0] in (vocab.OPENING, vocab.CLOSING, DATED) for cell in cells_of(line)
    )


def _full_days(line: StatementLine) -> list[WordSpan]:
    """The dates of a line that have a year, without what is the number of a branch."""
    full = [day for day in line.dates if dates.has_year(day.text) and not day.text.isdigit()]
    others = [day for day in full if not _SORT_CODE.match(day.text)]
    if others and len(others) < len(full):  # a bank prints its days in one form
        return others
    return [day for day in full if day in others or not _is_branch(line, day)]


def _is_branch(line: StatementLine, day: WordSpan) -> bool:
    before = " ".join(word.text for word in line.words[: day.start])
    return bool(_BRANCH.search(vocab.simplify(before)))


def account_of(lines: Iterable[StatementLine]) -> str:
    """The account number that lines name last, or ""."""
    found = ""
    for line in lines:
        if number := _account(line):
            found = number
    return found


def first_account(lines: Iterable[StatementLine]) -> str:
    """The account number that lines name first, or ""."""
    return next((number for line in lines if (number := _account(line))), "")


def account_like(known: str, lines: Iterable[StatementLine]) -> str:
    """The last number without a label that lines end with and that is written as a known account is; or "".

    It begins like it, as the accounts of one customer do: a day, or the number of the customer, may be as long.
    """
    shape = _SHAPE.sub("0", known)
    if sum(map(str.isdigit, known)) < ACCOUNT_DIGITS_MIN + 1 or shape.strip("0 -./"):
        return ""
    found = ""
    for line in lines:
        count = len(known.split())
        number = " ".join(word.text for word in line.words[-count:])
        is_title = count < len(line.words) <= TITLE_WORDS_MAX + count
        is_like = number[: len(known) // 2] == known[: len(known) // 2]
        if is_title and is_like and number != known and _SHAPE.sub("0", number) == shape:
            found = number
    return found


def _account(line: StatementLine) -> str:
    if len(line.words) > LABEL_WORDS_MAX + 4:
        return ""
    if (iban := _IBAN.search(line.text)) and len(iban[0].replace(" ", "")) >= IBAN_CHARS_MIN:
        # NL99ZZZ331234567890 is the number of a creditor.
        return "" if _CREDITOR.match(iban[0]) else _iban(iban[0])
    if not vocab.ACCOUNTS.find(vocab.simplify(line.text)):
        return ""
    taken = {at for token in line.dates for at in range(token.start, token.end)}
    words = [word.text for at, word in enumerate(line.words) if at not in taken]
    behind = words[_label_end(words) :]  # first: the box of a bank may stand before its account
    for found in chain(*(_NUMBER.finditer(" ".join(part)) for part in (behind, words))):
        number = found[0].strip(" .-")
        if sum(
            c.isdigit() or c in "Xx*•" for c in number
        ) >= ACCOUNT_DIGITS_MIN and not has_decimals(number):
            return number
    return ""


def _label_end(words: Sequence[str]) -> int:
    """How many words lead to the end of the first label of an account."""
    ends = range(1, len(words) + 1)
    return next((n for n in ends if vocab.ACCOUNTS.find(vocab.simplify(" ".join(words[:n])))), 0)


def _iban(text: str) -> str:
    """An IBAN without a currency code behind it."""
    parts = text.split()
    while len(parts) > 1 and parts[-1].isalpha():
        parts.pop()
    return " ".join(parts)


def is_same_account(number: str, other: str) -> bool:
    """Whether two numbers name one account: of an IBAN, figures that stand beside it may have been taken for a part.

    An IBAN contains the number of the account in its country.
    """
    one, two = ("".join(c for c in each.upper() if c.isalnum()) for each in (number, other))
    is_iban = bool(_IBAN.match(one) and _IBAN.match(two))
    if is_iban or one == two:
        return one.startswith(two) or two.startswith(one)
    short, long = sorted((one, two), key=len)
    return len(short) >= OWN_NUMBER_MIN and bool(_IBAN.match(long)) and short in long


def card_strength(lines: Sequence[StatementLine]) -> int:
    """Whether this is a card: 0 no, 1 maybe (a name, a limit), 2 yes (a minimum payment, a due date).

    Prose does not count: banks advertise cards on account statements.
    """
    strength = 0
    for at, line in enumerate(lines):
        text = vocab.simplify(_FIGURES.sub(" ", line.text))
        phrase = vocab.CARDS.find(text) if len(text.split()) <= TITLE_WORDS_MAX else ""
        if not phrase:
            continue
        below = lines[at + 1] if at + 1 < len(lines) else line
        has_value = any(map(_has_value, (line, below)))
        is_strong = any(word in phrase for word in STRONG_CARD)
        if has_value and is_strong:
            return 2
        if has_value or text.startswith(phrase):
            strength = 1
    return strength


def _has_value(line: StatementLine) -> bool:
    return any(has_decimals(token.text) for token in line.money) or bool(line.dates)


def is_bank(lines: Iterable[StatementLine]) -> bool:
    """Whether words that only bank accounts have are printed, outside of prose."""
    return any(
        len(line.words) <= LABEL_WORDS_MAX and bool(vocab.BANKS.find(vocab.simplify(line.text)))
        for line in lines
    )


def currency_of(lines: Iterable[StatementLine], texts: Iterable[str]) -> str:
    """The currency printed with the amounts, else the one named most often in the lines."""
    texts = list(texts)
    counts = Counter(code for text in texts for code in _currencies(_BESIDE_AMOUNT, text))
    if not counts:
        # A company may be called like a currency (SDN BHD), which then has other decimals than the amounts.
        has_cents = any(_CENTS.search(text) for text in texts)
        # Neither small print nor a purchase abroad says what the account is in.
        heads = [
            line
            for line in lines
            if len(line.words) <= LABEL_WORDS_MAX and not _ABROAD.search(line.text)
        ]
        counts = Counter(
            code
            for line in heads
            for code in _currencies(_IN_LINE, line.text)
            if not (has_cents and EXPONENTS.get(code, 2) > 2)
        )
    return max(counts, key=lambda code: counts[code]) if counts else ""


def _currencies(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for word in pattern.findall(text):
        code = SYMBOLS.get(word.lower(), word if word in CURRENCY_CODES else "")
        if code:
            yield code

"""Merchant, date and total of a receipt, by rules that are data (`receipts.yaml`).

The total is looked for twice, independently: by the words beside it, and by what was paid less the change (or, where
nothing was labelled, by what the prices add up to). What both find is right; where they differ, the total is flagged
and both are told. A date that could be read in two orders is given without a value. Pure: lines in, fields out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.kit.dates import fold, read_date, vote_order
from stateward.pipelines.kit.money import CURRENCY_CODES, SYMBOLS

LINES_MAX = 600
WORDS_MAX = 450  # a longer document is no receipt
PAGES_MAX = 3
MERCHANT_LINES = 8
NAME_LINES_MAX = 3
HEADINGS_MIN = 2
UNSURE = 60  # the confidence of a figure below which it may be misread
CENT = Decimal("0.01")
ROUNDING_MAX = Decimal("0.05")
DISAGREES, UNCONFIRMED, UNREADABLE = "TOTAL_DISAGREES", "TOTAL_UNCONFIRMED", "TOTAL_UNSURE"
NOT_FOUND, AMBIGUOUS, NO_DATE = "TOTAL_NOT_FOUND", "DATE_AMBIGUOUS", "DATE_NOT_FOUND"

# A currency may be glued to its figure: RM26.00.
_FIGURE = re.compile(
    r"(?<![\d.,])(?<![^\W\d_]{4})[-\u2212]?\d{1,3}(?:(?:[.,'\u2019]\d{3})+|\d{0,6})[.,]\d{2}(?![\d]|[.,]\d)"
    r"|(?<!\S)[-\u2212]?\.\d{2}(?!\S)"  # Rounding .02
)
# 1 018,70: thousands parted by a blank. A quantity may stand before a price, too, but wider apart.
_BLANK = " \u00a0\u202f"
_PARTED_FIGURE = re.compile(
    rf"(?<![\d.,])(?<!\d[{_BLANK}])[-\u2212]?[1-9]\d{{0,2}}(?:[{_BLANK}]\d{{3}})+,\d{{2}}(?![\d]|[.,]\d)"
)
BLANK_WIDTH_MAX = 0.5  # of the height of a word
_WHOLE = re.compile(
    r"(?<![\w.,/:-])\d{1,3}(?:[.,]\d{3})+(?![\d.,/:-])|(?<![\w.,/:-])\d{2,9}(?![\w.,/:%-])"
)
_SPLIT_FIGURE = re.compile(r"(?<=\d)([.,]) (?=\d{2}(?!\d))|(?<=\d) ([.,])(?=\d{2}(?!\d))")
_DATES = re.compile(
    # The time may be glued to the date: 2018/02/2213:34.
    r"(?<![\d./])(?:\d{4}[./-]\d{2}[./-]\d{2}|\d{2}[./-]\d{2}[./-]\d{4})(?=\d{2}:\d{2})"
    r"|(?<![\d./])(?:\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2}))(?![\d/-]|\.\d)"
    r"|(?<!\d)\d{1,2}[. -]{0,2}[^\W\d_]{3,10}[., '-]{0,2}(?:20\d{2}|\d{2})(?![\d:/])"
    r"|\b[^\W\d_]{3,10}[. ]{1,2}\d{1,2},? ?20\d{2}(?!\d)"
)
# `Votre contrat : Tarif Bleu` tells something of the customer or the bill.
_LABELLED = re.compile(r"[^:]{2,40}\s?:\s+\S")
_REGISTERED = re.compile(
    r"(?:^|[.;|·•\u2013-]\s)(?P<name>[A-ZÀ-Þ][\w&'.-]{1,30}(?:\s[\w&'.-]{1,30}){0,4}?\s"
    r"(?:SA|SAS|SASU|SARL|SE|GmbH|AG|KG|Ltd|Limited|plc|S\.?p\.?A\.?|S\.?r\.?l\.?|B\.?V\.?|N\.?V\.?|S\.?L\.?|S\.?A\.?|Oy|AB|ASA?|A/S|ApS))"
    r"[\s,;·|-](?=.{0,60}(?:au capital|RCS|SIREN|HRB|Amtsgericht|(?i:registered)|[Cc]ompany (?:no|number)"
    r"|Registro Mercantil|KvK|[Cc]apitale sociale|[Oo]rg\.?[- ]?n))"
)
_BRACKETS = re.compile(r"\([^()]*\)")
_REGISTER_NUMBER = re.compile(
    r"\s*[(\[](?:(?:co|company|reg|roc|uen|abn|cin)\.?\s*)*(?:no|nr)?\.?\s*:?\s*"
    r"[A-Z0-9/-]{0,4}\d{4,}[A-Z0-9 /-]{0,10}[)\]]?\s*$",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b\d{1,2}[:.]\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?\b")


class PrintedWord(msgspec.Struct, frozen=True):
    """A word as it was read."""

    text: str
    box: tuple[float, float, float, float]
    confidence: int


class PrintedLine(msgspec.Struct, frozen=True):
    """A line of a document; `where` is the place of the whole line."""

    page: int
    words: list[PrintedWord]
    where: Fields

    @property
    def text(self) -> str:
        """Its words, with a decimal sign that was torn off joined again."""
        return _SPLIT_FIGURE.sub(r"\1\2", " ".join(word.text for word in self.words))


class ReceiptField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field: its value in canonical form, as printed, how sure it is, and what speaks against it."""

    field: str
    value: str | None
    raw: str
    confidence: int
    page: int
    where: Fields
    currency: str = ""
    flags: tuple[str, ...] = ()


class Receipt(msgspec.Struct, frozen=True):
    """What was found: fields, notes for a person (code and sentence), and reasons for the log."""

    fields: tuple[ReceiptField, ...] = ()
    notes: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()


def receipt_fields(
    lines: Sequence[PrintedLine],
    *,
    languages: Sequence[str],
    date_order: str | None = None,
    is_told: bool = False,
) -> Receipt:
    """The fields of a receipt; nothing of a document that does not look like one, unless `is_told` says it is."""
    reading = _ReceiptReading(lines[:LINES_MAX], _vocabulary(tuple(sorted(languages))), date_order)
    if not is_told and not reading.looks_like_receipt(len(lines)):
        return Receipt(decisions=("it does not look like a receipt: no fields are looked for",))
    return reading.receipt()


class _Amount(msgspec.Struct, frozen=True):
    """An amount of money where it is printed. `is_whole` says that it has no decimals."""

    value: Decimal
    raw: str
    line: int
    currency: str
    confidence: int
    is_whole: bool = False


class _Vocabulary(msgspec.Struct, frozen=True):
    """The words of the languages that documents may have, folded."""

    totals: tuple[tuple[int, str, re.Pattern[str]], ...]  # rank, language
    lists: Mapping[str, re.Pattern[str]]
    date_orders: Mapping[str, str]
    place_orders: Mapping[str, re.Pattern[str]]
    language_orders: Mapping[str, str]

    def has(self, name: str, text: str) -> bool:
        """Whether a line has a word of a list."""
        return bool(self.lists[name].search(text))

    def total_rank(self, text: str) -> tuple[int, str]:
        """How strongly a line says that it is the total (0: not at all), and its language if only one has its words."""
        if self.has("not_total", text):
            return 0, ""
        found = [(rank, language) for rank, language, words in self.totals if words.search(text)]
        languages = {language for _, language in found}
        rank = max((rank for rank, _ in found), default=0)
        return rank, languages.pop() if len(languages) == 1 else ""


class _ReceiptReading:
    """One document: the amounts of its lines, and what the rules make of them."""

    def __init__(
        self, lines: Sequence[PrintedLine], words: _Vocabulary, date_order: str | None
    ) -> None:
        self._lines = lines
        self._texts = [line.text for line in lines]
        self._folded = [_bare(text) for text in self._texts]
        self._words = words
        self._date_order = date_order
        self._amounts = [list(_amounts(line, index)) for index, line in enumerate(lines)]
        self._ranks = self._total_ranks()
        self._notes: list[str] = []
        self._decisions: list[str] = []

    def _total_ranks(self) -> list[tuple[int, str]]:
        """How strongly each line says that it is the total; those of a table of taxes are of what it lists."""
        ranks = []
        is_summary = False
        for text, amounts in zip(self._folded, self._amounts, strict=True):
            is_heading = self._words.has("tax_summary", text) and not amounts
            is_summary = is_heading or (is_summary and len(amounts) != 1)
            ranks.append((0, "") if is_summary else self._words.total_rank(text))
        return ranks

    def looks_like_receipt(self, lines_all: int) -> bool:
        """Few words, prices, a total, and a payment, a tax or a date."""
        if lines_all > LINES_MAX or len({line.page for line in self._lines}) > PAGES_MAX:
            return False
        if sum(len(line.words) for line in self._lines) > WORDS_MAX:
            return False
        if any(self._words.has("not_receipt", text) for text in self._folded[:MERCHANT_LINES]):
            return False
        has_total = any(rank and self._beside(index) for index, (rank, _) in enumerate(self._ranks))
        is_paid = any(self._words.has("paid", text) for text in self._folded)
        has_date = any(_DATES.search(text) for text in self._texts)
        return sum(map(bool, self._amounts)) >= 2 and (
            (has_total and (is_paid or has_date)) or (is_paid and has_date)
        )

    def receipt(self) -> Receipt:
        """All fields that were found."""
        fields = [field for field in (self._merchant(), self._date(), self._total()) if field]
        return Receipt(tuple(fields), tuple(self._notes), tuple(self._decisions))

    # The total

    def _total(self) -> ReceiptField | None:
        labelled = self._labelled_amount()
        paid, paid_why = self._paid_amount()
        if labelled is None:
            return self._unlabelled_total(paid, paid_why)
        chosen, why = labelled
        if chosen.is_whole and paid is not None and _same_digits(chosen.value, paid.value):
            chosen, why = paid, f"{why}; its decimal sign was lost, {paid_why} has it"
        flags: list[str] = []
        if paid is None and (rounded := self._rounded_amount(chosen)) is not None:
            chosen, why = rounded, f"{why}, rounded as {self._texts[rounded.line]!r} says"
        if paid is not None and paid.value != chosen.value:
            if self._is_rounded(chosen.value, paid.value):
                chosen, why = paid, f"{why}, rounded as {paid_why} says"
            else:
                flags.append(DISAGREES)
                self._notes.append(
                    f"{DISAGREES}: {why} says {chosen.value}, but {paid_why} says {paid.value}; look at the receipt"
                )
        prints = self._prints(chosen.value)
        is_agreed = paid is not None and not flags
        if chosen.is_whole and prints < 2 and not is_agreed:
            flags.append(UNCONFIRMED)
            self._notes.append(f"{UNCONFIRMED}: the total {chosen.raw} has no decimals; look at it")
        sure = 97 if is_agreed else 85 + 5 * (prints > 1)
        self._decisions.append(f"total {chosen.value}: {why}; {prints} times on the receipt")
        return self._total_field(chosen, 50 if flags else sure, flags)

    def _unlabelled_total(self, paid: _Amount | None, why: str) -> ReceiptField | None:
        """No line says that it is the total: what was paid is, if the prices add up to it."""
        if paid is None:
            self._notes.append(f"{NOT_FOUND}: no line names a total; enter it by hand")
            return None
        prices = [
            each for line in self._amounts[: paid.line] for each in line[-1:] if not each.is_whole
        ]
        if sum((each.value for each in prices), Decimal(0)) == paid.value:
            self._decisions.append(f"total {paid.value}: {why}, and the prices add up to it")
            return self._total_field(paid, 80, [])
        self._notes.append(f"{UNCONFIRMED}: no line names a total; {why} says {paid.value}")
        return self._total_field(paid, 50, [UNCONFIRMED])

    def _total_field(self, found: _Amount, confidence: int, flags: list[str]) -> ReceiptField:
        if found.confidence < UNSURE and UNREADABLE not in flags and confidence < 97:
            flags.append(UNREADABLE)
            self._notes.append(f"{UNREADABLE}: the total {found.raw} is hard to read; look at it")
            confidence = min(confidence, 50)
        line = self._lines[found.line]
        return ReceiptField(
            field="total",
            value=f"{found.value:f}",
            raw=found.raw,
            confidence=confidence,
            page=line.page,
            where=_where(line, found.raw),
            currency=found.currency or self._currency(),
            flags=tuple(flags),
        )

    def _labelled_amount(self) -> tuple[_Amount, str] | None:
        """The amount beside the strongest word; of several, the one that is printed most often, then the largest."""
        found: list[tuple[int, _Amount, str]] = []
        for index, (rank, _) in enumerate(self._ranks):
            amount = self._beside(index) if rank else None
            if amount is not None and amount.value > 0:
                found.append((rank, amount, self._texts[index]))
        if not found:
            return None
        decimals = [each for each in found if not each[1].is_whole] or found
        rank = max(rank for rank, _, _ in decimals)
        best = max(
            (each for each in decimals if each[0] == rank),
            key=lambda each: (self._prints(each[1].value), each[1].value),
        )
        whole = [each for each in found if each[1].is_whole and each[0] > rank]
        if whole and not any(_same_digits(each[1].value, best[1].value) for each in whole):
            best = max(whole, key=lambda each: each[0])
        return best[1], f"the line {best[2]!r}"

    def _beside(self, index: int) -> _Amount | None:
        """The amount that a label stands beside: the last one of its line, or a line of its own right below."""
        if self._amounts[index]:
            return self._amounts[index][-1]
        if index + 1 < len(self._lines) and _is_only_amount(self._texts[index + 1]):
            below = self._amounts[index + 1]
            return below[-1] if below else None
        return None

    def _paid_amount(self) -> tuple[_Amount | None, str]:
        """What was paid less the change; cash without change may be more than the total, so that it says nothing."""
        paid: list[tuple[_Amount, bool]] = []
        change: _Amount | None = None
        for index, text in enumerate(self._folded):
            if self._ranks[index][0]:
                continue
            amount = self._beside(index)
            if amount is None or amount.is_whole:
                continue
            if self._words.has("change", text):
                change = change or amount
            elif self._words.has("paid", text) and amount.value > 0:
                paid.append((amount, self._words.has("cash", text)))
        cards = [amount for amount, is_cash in paid if not is_cash]
        cash = [amount for amount, is_cash in paid if is_cash]
        if cash and change is not None and not cards:
            value = cash[0].value - abs(change.value)
            if value > 0:
                return msgspec.structs.replace(cash[0], value=value), "cash less change"
        if len({each.value for each in cards}) == 1 and not cash:
            if change is not None and 0 < change.value < cards[0].value:
                value = cards[0].value - change.value
                return msgspec.structs.replace(cards[0], value=value), "the payment less change"
            return cards[0], "the payment"
        if cash and not cards and change is None and not any(rank for rank, _ in self._ranks):
            return cash[0], "the cash"
        return None, ""

    def _is_rounded(self, total: Decimal, paid: Decimal) -> bool:
        """Whether two amounts differ only as coins do, and the receipt says so or the paid one ends in 0 or 5."""
        if abs(total - paid) >= ROUNDING_MAX:
            return False
        ends_in_coin = paid % ROUNDING_MAX == 0
        return ends_in_coin and any(self._words.has("rounding", text) for text in self._folded)

    def _rounded_amount(self, total: _Amount) -> _Amount | None:
        """The amount below the total that it is rounded to: both a coin's difference away, and that is printed, too."""
        printed = {
            abs(each.value)
            for index, text in enumerate(self._folded)
            if self._words.has("rounding", text)
            for each in self._amounts[index]
        }
        for line in self._amounts[total.line + 1 :]:
            for each in line:
                difference = abs(each.value - total.value)
                if (
                    0 < difference < ROUNDING_MAX
                    and difference in printed
                    and each.value % ROUNDING_MAX == 0
                ):
                    return each
        return None

    def _prints(self, value: Decimal) -> int:
        return sum(each.value == value for line in self._amounts for each in line)

    def _currency(self) -> str:
        counts = Counter(each.currency for line in self._amounts for each in line if each.currency)
        return counts.most_common(1)[0][0] if counts else ""

    # The date

    def _date(self) -> ReceiptField | None:
        found = [
            (self._date_score(index, match), index, match[0])
            for index, text in enumerate(self._texts)
            for match in _DATES.finditer(text)
            if not self._is_of_other_day(index, match)
            and any(read_date(match[0], order) for order in ("dmy", "mdy", "ymd"))
        ]
        if not found:
            self._notes.append(f"{NO_DATE}: no date was found; enter it by hand")
            return None
        vote = vote_order([raw for _, _, raw in found], usual=self._usual_order())
        _, index, raw = max(found, key=lambda each: (each[0], -each[1]))
        day = read_date(raw, vote.order) if vote.order else _only_day(raw)
        line = self._lines[index]
        flags: tuple[str, ...] = ()
        if day is None:
            flags = (AMBIGUOUS,)
            self._notes.append(
                f"{AMBIGUOUS}: {raw} could be day first or month first; set documents.date_order, or enter it"
            )
        self._decisions.append(
            f"date {day}: printed as {raw!r}; {vote.why or 'its order is usual here'}"
        )
        return ReceiptField(
            field="date",
            value=None if day is None else day.isoformat(),
            raw=raw,
            confidence=40 if flags else min(95, max(60, _confidence(line, raw))),
            page=line.page,
            where=_where(line, raw),
            flags=flags,
        )

    def _is_of_other_day(self, index: int, match: re.Match[str]) -> bool:
        """Whether the line says that a day is another one; not if that follows `Date 14/03/2026`."""
        if not self._words.has("not_date", self._folded[index]):
            return False
        before = _bare(self._texts[index][: match.start()])
        return not self._words.has("date", before) or self._words.has("not_date", before)

    def _date_score(self, index: int, match: re.Match[str]) -> int:
        text = self._texts[index]
        return 2 * self._words.has("date", self._folded[index]) + bool(
            _TIME.search(text[: match.start()] + " " + text[match.end() :])
        )

    def _usual_order(self) -> str:
        if self._date_order:
            return self._date_order
        by_currency = self._words.date_orders.get(self._currency(), "")
        by_place = {
            order
            for order, places in self._words.place_orders.items()
            if any(places.search(text) for text in self._folded)
        }
        by_language = {
            self._words.language_orders.get(language, "")
            for rank, language in self._ranks
            if rank and language
        }
        return by_currency or _only(by_place) or _only(by_language)

    # The merchant

    def _merchant(self) -> ReceiptField | None:
        """Of the first lines the one that names a company, else the first that is a name at all.

        A name that is too long for the paper goes on in the next line: one of nothing but the form of a company belongs
        to the line above, and a bracket that is left open to the line below.
        """
        names = {
            index: name
            for index in range(min(MERCHANT_LINES, len(self._lines)))
            if (name := self._name(index))
        }
        named = [index for index in names if self._words.has("company", self._folded[index])]
        if not named and (issuer := self._issuer()) is not None:
            return issuer
        if not names:
            return None
        index = min(named or names)
        first, last = self._whole_name(index, names)
        line = self._lines[index]
        sure = min(word.confidence for line in self._lines[first : last + 1] for word in line.words)
        whole = " ".join([names.get(each, self._texts[each]) for each in range(first, last + 1)])
        return ReceiptField(
            field="merchant",
            value=" ".join(_without_number(whole).split()).strip(" *-_=,:"),
            raw=" ".join(self._texts[first : last + 1]),
            confidence=min(90 if named else 70, max(sure, 30)),
            page=line.page,
            where=line.where,
        )

    def _whole_name(self, index: int, names: Mapping[int, str]) -> tuple[int, int]:
        """The first and the last line of a name of which a line is known."""
        first = last = index
        while last - first < NAME_LINES_MAX - 1 and last + 1 < len(self._texts):
            text = " ".join(self._texts[first : last + 1])
            is_open = text.count("(") > text.count(")") and ")" in self._texts[last + 1]
            is_formless = not self._words.has("company", _bare(text))
            if not is_open and not (is_formless and self._is_form(self._texts[last + 1])):
                break
            last += 1
        while first - 1 in names and last - first < NAME_LINES_MAX - 1:
            text = " ".join(self._texts[first : last + 1])
            if text.count(")") <= text.count("(") and not self._is_form(text):
                break
            first -= 1
        return first, last

    def _is_form(self, text: str) -> bool:
        """Whether a text is nothing but the form of a company: CO. (M) SDN BHD."""
        bare = _bare(_BRACKETS.sub(" ", _without_number(text)))
        return bool(bare) and not self._words.lists["company"].sub("", bare).strip()

    def _issuer(self) -> ReceiptField | None:
        """The company that the small print names with its register or capital, if the first lines name it, too."""
        above = {word for text in self._folded[:MERCHANT_LINES] for word in text.split()}
        for index, text in enumerate(self._texts):
            found = _REGISTERED.search(text)
            if found is not None and _bare(found["name"]).split()[0] in above:
                line = self._lines[index]
                return ReceiptField(
                    field="merchant",
                    value=found["name"],
                    raw=text,
                    confidence=80,
                    page=line.page,
                    where=line.where,
                )
        return None

    def _name(self, index: int) -> str:
        """The name that a line may be: no address, no headings of a table, and without the word that it is a bill."""
        text = self._texts[index]
        if (found := _REGISTERED.search(text)) is not None:
            return found["name"]
        if index and self._words.has("owner", self._folded[index - 1]):
            return ""
        text = _without_number(text)
        bare = _bare(text)
        is_labelled = _LABELLED.match(text) and not self._words.has("company", bare)
        if not _is_name(text) or _ADDRESS.search(text) or is_labelled:
            return ""
        if len(set(self._words.lists["headings"].findall(bare))) >= HEADINGS_MIN:
            return ""
        if not self._words.has("not_merchant", bare):
            return text
        titles = [*self._words.lists["titles"].finditer(bare)]
        if not titles or titles[-1].end() != len(bare) or not self._words.has("company", bare):
            return ""
        name = " ".join(text.split()[: len(bare[: titles[-1].start()].split())])
        is_whole = not self._words.has("not_merchant", _bare(name))
        return name if is_whole and self._words.has("company", _bare(name)) else ""


def _without_number(name: str) -> str:
    """A name without the number in a register that is printed behind it: `(728515-M)`, `(Co. No. 113825-W)`."""
    return _REGISTER_NUMBER.sub("", name)


def _only(orders: set[str]) -> str:
    return orders.pop() if len(orders) == 1 else ""


def _amounts(line: PrintedLine, index: int) -> Iterator[_Amount]:
    """The amounts of a line with decimals; without any, whole numbers, which are money in some currencies."""
    text = line.text
    matches = list(_FIGURE.finditer(text))
    parted = list(_PARTED_FIGURE.finditer(text))
    if len(parted) == len(matches) == 1 and _is_set_as_one(line, parted[0][0]):
        matches = parted
    is_whole = not matches
    for match in matches or list(_WHOLE.finditer(text)):
        value = figure(match[0])
        before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
        if after.startswith("%"):
            continue
        yield _Amount(
            value, match[0], index, _currency(before, after), _confidence(line, match[0]), is_whole
        )


def _is_set_as_one(line: PrintedLine, raw: str) -> bool:
    """Whether the parts of a figure stand as near to each other as those of one number."""
    parts = raw.lstrip("-\u2212").split()
    texts = [word.text.lstrip("-\u2212") for word in line.words]
    for at in range(len(texts) - len(parts) + 1):
        words = line.words[at : at + len(parts)]
        if texts[at] == parts[0] and texts[at + len(parts) - 1].startswith(parts[-1]):
            return all(
                after.box[0] - before.box[2] <= BLANK_WIDTH_MAX * (before.box[3] - before.box[1])
                for before, after in pairwise(words)
            )
    return any(raw in word.text for word in line.words)


def figure(raw: str) -> Decimal:
    """The last separator before two digits is the decimal sign, any other separates thousands."""
    digits = re.sub(r"[^\d.,]", "", raw)
    whole, cents = (digits[:-3], digits[-2:]) if re.search(r"[.,]\d{2}$", digits) else (digits, "")
    value = Decimal(re.sub(r"\D", "", whole) or "0")
    if cents:
        value = (value + Decimal(cents) * CENT).quantize(CENT)
    return -value if raw.lstrip().startswith(("-", "\u2212")) else value


def _currency(before: str, after: str) -> str:
    """The currency beside a figure; "" where there is none, or where the sign is that of several."""
    for text, is_before in ((before, True), (after, False)):
        found = re.search(
            r"([^\W\d_]{1,3}\$?|[$€£¥₹])\W?$" if is_before else r"^([^\W\d_]{2,3}|[$€£¥₹])", text
        )
        if not found:
            continue
        sign = found[1]
        if sign.upper() in CURRENCY_CODES:
            return sign.upper()
        if known := SYMBOLS.get(sign.casefold()):
            return known
    return ""


def _is_only_amount(text: str) -> bool:
    """Whether a line holds an amount, perhaps with its currency, and nothing else."""
    rest = _FIGURE.sub("", text, count=1)
    return rest != text and len(re.sub(r"\W", "", rest)) <= 3


def _same_digits(one: Decimal, other: Decimal) -> bool:
    return one != other and f"{one:f}".replace(".", "") == f"{other:f}".replace(".", "")


def _only_day(raw: str) -> date | None:
    """The day of a date that is the same in every order."""
    days = {day for order in ("dmy", "mdy") if (day := read_date(raw, order))}
    return days.pop() if len(days) == 1 else None


# A house number and a street, or a post code of Britain or America.
_ADDRESS = re.compile(
    r"^\W*\d{1,5}[a-z]?[ ,].*\b(?:street|st|road|rd|lane|place|avenue|ave|square|way|drive|court|rue|boulevard|via"
    r"|jalan)\b"
    r"|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b|\b[A-Z]{2} \d{5}\b",
    re.IGNORECASE,
)


def _is_name(text: str) -> bool:
    letters = sum(letter.isalpha() for letter in text)
    return (
        letters >= 3 and letters >= 0.55 * len(text.replace(" ", "")) and not _FIGURE.search(text)
    )


def _confidence(line: PrintedLine, raw: str) -> int:
    """How sure the words of a line are that hold a text."""
    return min((word.confidence for word in _holding(line, raw)), default=0)


def _where(line: PrintedLine, raw: str) -> Fields:
    words = _holding(line, raw)
    if not words:
        return line.where
    lefts, tops, rights, bottoms = zip(*(word.box for word in words), strict=True)
    return {**line.where, "box": [min(lefts), min(tops), max(rights), max(bottoms)]}


def _holding(line: PrintedLine, raw: str) -> list[PrintedWord]:
    """The words of a line that a text is made of: those that it holds, or that hold it."""
    bare = raw.replace(" ", "")
    whole = [word for word in line.words if bare in word.text.replace(" ", "")]
    return whole[-1:] or [
        word for word in line.words if word.text.strip(",.") and word.text.strip(",.") in raw
    ]


def _bare(text: str) -> str:
    """Without case, accents, dots and marks, one blank between words: the form in which words are compared."""
    return " ".join(re.sub(r"[^\w&/#-]", " ", fold(text)).split())


@lru_cache(maxsize=8)
def _vocabulary(languages: tuple[str, ...]) -> _Vocabulary:
    rules = msgspec.yaml.decode(
        (files("stateward.pipelines.documents") / "receipts.yaml").read_text("utf-8")
    )
    totals = tuple(
        (each["rank"], language, _pattern(each[language]))
        for each in rules["total"]
        for language in languages
        if language in each
    )
    names = ("not_total", "tax_summary", "paid", "cash", "change", "rounding", "date", "not_date")
    lists = {
        name: _pattern([word for language in languages for word in rules[name].get(language, ())])
        for name in names
    }
    further = ("company", "owner", "not_merchant", "titles", "headings", "not_receipt")
    lists |= {name: _pattern(rules[name]) for name in further}
    places = {order: _pattern(words) for order, words in rules["place_orders"].items()}
    return _Vocabulary(totals, lists, rules["date_orders"], places, rules["language_orders"])


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    bare = sorted({_bare(word) for word in words}, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, bare)) or '(?!)'})(?![\w-])")

"""What a bank chose: the looks of a statement, drawn at random, and without what no bank would print together."""

import random

import msgspec

from lab.documents.statements.words import TONGUES

SIGNS = (
    "columns", "columns", "columns_reversed", "signed", "signed", "trailing", "marks", "brackets", "unsigned",
    "mark_column", "unicode", "plus", "zeros", "dashes", "negative_debits",
)  # fmt: skip
TWO_COLUMNS = frozenset({"columns", "columns_reversed", "zeros", "dashes", "negative_debits"})
CARD_SIGNS = ("card_positive", "card_credit_mark", "card_negative", "card_trailing")
BALANCES = ("running", "running", "running", "daily", "none")
SUMMARIES = ("lines", "lines", "boxes", "table", "both")


AMONG: dict[str, tuple[object, ...]] = {
    "summary": SUMMARIES,
    "amount_at": ("first",) * 6 + ("last",),
    "wrap": ("none", "some", "many", "some", "middle"),
    "heads": ("one", "one", "two", "left", "both"),
    "order": ("usual", "usual", "usual", "text_last", "date_second", "balance_first"),
    "accounts": (1, 1, 1, 1, 2, 3),
    "rows": (0, 1, 3, 12, 25, 40, 70),
    "size": (7.0, 8.0, 9.0, 10.0),
    "currency_at": ("", "", "", "before", "after"),
    "names": ("known",) * 14 + ("unknown", "none"),
    "extra": ("",) * 10 + ("foreign", "available"),
    "figures_at": ("right",) * 12 + ("left", "middle"),
    "tail": ("",) * 8 + ("daily", "pending"),
    "tells": ("period",) * 9 + ("date",),
    "labels": ("plain",) * 9 + ("dated",),
}
CHANCES = {
    "is_newest_first": 0.15, "is_blank_date": 0.2, "is_day_line": 0.06, "has_value_date": 0.35, "has_reference": 0.15,
    "has_carried": 0.3, "has_totals": 0.3, "has_watermark": 0.2, "has_outside": 0.15, "has_noise": 0.8,
    "repeats_heads": 0.8, "is_over_new_year": 0.15, "is_torn": 0.25, "is_doubled": 0.06, "has_big_mark": 0.06,
    "is_turned": 0.05, "has_counts": 0.1, "has_star": 0.05, "has_numbers": 0.85,
}  # fmt: skip


class Choice(msgspec.Struct, kw_only=True):
    """Everything that a bank chose. Any of it can be forced by name."""

    tongue: str
    sign: str
    balance: str
    summary: str
    number: str
    date: str
    is_card: bool = False
    is_newest_first: bool = False
    is_blank_date: bool = False  # printed once for each day
    is_day_line: bool = False  # printed on a line of its own above the rows of its day
    amount_at: str = "first"  # or "last": which line of a row has the amount
    wrap: str = "some"  # "none", "some", "many", "middle" (amounts centred on their rows)
    has_value_date: bool = False
    has_reference: bool = False
    has_carried: bool = False
    has_totals: bool = False
    has_watermark: bool = False
    has_outside: bool = False  # text outside the crop box
    has_noise: bool = True  # a footer with dates and amounts
    # "one", "two" (lines), "left" (over figures set right), "both" (two languages).
    heads: str = "one"
    repeats_heads: bool = True
    order: str = "usual"  # "text_last", "date_second", "balance_first"
    kind: str = "table"  # "titles" (tables by kind of movement), "checks" (three side by side)
    accounts: int = 1
    rows: int = 25
    size: float = 9.0
    currency_at: str = ""  # "", "before", "after": printed with every amount
    is_over_new_year: bool = False
    names: str = "known"  # "unknown": words of no language; "none": no heading at all
    extra: str = ""  # "foreign": an amount in another currency; "available": a second balance
    is_torn: bool = False  # text of a row may go on over the page
    is_doubled: bool = False  # bold, by printing twice
    has_big_mark: bool = False  # a huge word straight across the table
    is_turned: bool = False  # a landscape table on a turned page
    figures_at: str = "right"  # or "left", "middle": how figures stand in their column
    tail: str = ""  # "daily": a table of balances; "pending": a table of what is not booked
    tells: str = "period"  # or "date": only the date of the statement
    labels: str = "plain"  # or "dated": balances told by their dates
    has_counts: bool = False
    has_numbers: bool = True  # accounts are told by their number, and not only by their name
    has_star: bool = False  # a footnote mark behind some amounts


def choose(rng: random.Random, forced: dict[str, object]) -> Choice:
    is_card = bool(forced.get("is_card", rng.random() < 0.2))
    if "tongue" in forced and not TONGUES[str(forced["tongue"])].card:
        is_card = False  # a reader could not know that it is a card
    names = [name for name, tongue in TONGUES.items() if tongue.card or not is_card]
    tongue = str(forced.get("tongue") or rng.choice(names))
    habits = TONGUES[tongue]
    kind = "titles" if tongue == "en_US" and rng.random() < 0.35 else "table"
    if kind == "titles" and rng.random() < 0.5:
        kind = "checks"
    sign = rng.choice(CARD_SIGNS if is_card else SIGNS)
    balance = "none" if is_card and rng.random() < 0.8 else rng.choice(BALANCES)
    if sign == "unsigned":
        balance = "running"
    values: dict[str, object] = {
        "tongue": tongue,
        "sign": sign,
        "balance": balance,
        "number": rng.choice(habits.numbers.split()),
        "date": rng.choice(habits.dates.split()),
        "is_card": is_card,
        "kind": kind,
        **{name: rng.choice(among) for name, among in AMONG.items()},
        **{name: rng.random() < chance for name, chance in CHANCES.items()},
    }
    values.update(forced)
    return _possible(msgspec.convert(values, Choice))


def _possible(choice: Choice) -> Choice:
    """Without what no bank would print together, or what no reader could read."""
    choice = msgspec.structs.replace(choice)
    for limit in (_whole_sense, _table_sense, _page_sense):
        limit(choice)
    return choice


def _whole_sense(choice: Choice) -> None:
    """What the kind of statement rules out."""
    if choice.kind != "table":
        choice.sign, choice.balance, choice.is_card = "titles", "none", False
        choice.is_blank_date = choice.is_day_line = choice.has_value_date = False
        choice.amount_at, choice.order, choice.summary, choice.currency_at = (
            "first",
            "usual",
            "lines",
            "",
        )
        choice.has_reference, choice.is_newest_first, choice.has_carried = False, False, False
        choice.wrap = "some" if choice.wrap == "middle" else choice.wrap
    if choice.number.endswith("3") or choice.sign == "marks":
        choice.currency_at = ""  # no bank sets figures so wide that they touch
    if choice.sign == "mark_column":
        choice.order = "usual" if choice.order == "balance_first" else choice.order
    if choice.is_card:
        choice.has_carried, choice.accounts = False, 1
        choice.summary = "lines" if choice.summary in ("table", "both") else choice.summary
    if choice.balance == "none":
        choice.has_carried = False
        choice.summary = "lines" if choice.summary == "table" else choice.summary
    if choice.order in ("text_last", "balance_first") or choice.is_newest_first:
        choice.amount_at, choice.has_carried = "first", False
        choice.wrap = "some" if choice.wrap == "middle" else choice.wrap
    if choice.is_newest_first:
        choice.summary = "lines" if choice.summary in ("table", "both") else choice.summary


def _table_sense(choice: Choice) -> None:
    """What the order of a table rules out."""
    if choice.amount_at == "last":
        choice.wrap = "many" if choice.wrap == "middle" else choice.wrap
        choice.is_day_line = False
    if choice.wrap == "middle":
        choice.is_blank_date = choice.is_day_line = False
    if choice.is_day_line:
        choice.is_blank_date, choice.order, choice.has_value_date = False, "usual", False
    if choice.order == "date_second":
        choice.is_blank_date = choice.is_day_line = choice.has_value_date = False
        choice.amount_at = "first"
        choice.wrap = "none" if choice.wrap == "middle" else choice.wrap
    if choice.names != "known":
        # Without names only a chain of balances, in the usual order, says what the columns are.
        choice.order, choice.balance, choice.extra, choice.accounts = "usual", "running", "", 1
        choice.is_card = choice.has_value_date = choice.has_reference = choice.is_day_line = (
            choice.is_blank_date
        ) = False
        choice.amount_at, choice.figures_at, choice.kind, choice.heads, choice.is_torn = (
            "first",
            "right",
            "table",
            "one",
            False,
        )
        choice.wrap = "some" if choice.wrap == "middle" else choice.wrap
        choice.rows, choice.repeats_heads, choice.has_counts = max(choice.rows, 12), True, False
        choice.number = "comma_dot" if choice.number == "comma_none" else choice.number
        if choice.sign not in TWO_COLUMNS - {"zeros"}:
            choice.sign = "signed"
    if choice.is_turned:
        choice.has_outside = False
        choice.is_turned = choice.tongue not in (
            "zh",
            "ja",
        )  # pdfium loses such glyphs when they are turned
    if choice.extra:
        choice.size = min(choice.size, 8.0)
    if choice.extra == "available" and choice.balance != "running":
        choice.extra = ""


def _page_sense(choice: Choice) -> None:
    """What the looks of pages rule out."""
    if choice.extra and (
        choice.order != "usual" or choice.kind != "table" or choice.figures_at != "right"
    ):
        choice.extra = ""
    if choice.is_torn and (choice.wrap == "middle" or choice.has_carried):
        choice.is_torn = False
    if choice.tells == "date" and (choice.is_over_new_year or choice.accounts > 1):
        choice.tells = "period"
    if choice.figures_at != "right":
        choice.heads, choice.currency_at = "one", ""
        choice.sign = (
            "columns" if choice.sign in ("mark_column", "marks", "dashes") else choice.sign
        )
    if choice.accounts > 1:
        choice.rows = max(2, min(choice.rows, 30))
    if choice.rows == 0:
        choice.summary = "lines"

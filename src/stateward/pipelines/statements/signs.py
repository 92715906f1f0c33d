"""How a table shows debits and credits: decided over its rows, by its balances, its marks and its words.

A reading is accepted only where the opposite one fails. Balances show how amounts and balances belong together, not
whether the balance is a deposit or a debt: that is told by words, and by nothing else. What remains open is a problem.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date
from itertools import pairwise
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import booking, headings, interpret
from stateward.pipelines.statements.direction import (
    SEVERAL,
    STRONG,
    DirectionVotes,
    Evidence,
    count_votes,
    evidence_of,
    may_be_paid_out,
    section_direction,
)
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.model import ReadingTerms, StatementRow
from stateward.pipelines.statements.profiles import ColumnProfile
from stateward.pipelines.statements.reconcile import RowAmounts, chain_breaks
from stateward.pipelines.statements.source import Hints

Cells = Sequence[str]
UNPROVEN, CONTRADICTED = "SIGN_UNPROVEN", "SIGN_CONTRADICTED"
EVIDENCE_ROWS = 400  # that decide: more would only take longer
MINORITY = 0.2  # of the words may be against a reading: a refund may be called a purchase
MAJORITY = 0.5
# Rows, before columns without a known heading prove that signs are to be turned, or balances that they are a debt:
# prices of two lots of shares happen to "add up" as amount and balance.
UNNAMED_ROWS = 4
MANY = 6  # rows, before a share of them means something
CLEARLY_IN = 0.6  # of many amounts beside balances are positive where the balance may be a debt: payments are few
CLEARLY_OUT = 0.4  # of many amounts may be money in, before their signs need a word that agrees
BROKEN_LINKS = 0.05  # of a chain of balances that still proves how it runs
NET_NAMES = frozenset({"net", "net amount", "netto", "net total"})
PAYOUTS = frozenset({"payout", "payouts", "stripe payout", "payout to bank", "auszahlung an bank"})
# What else a seller's account calls its rows, in the column that has its payouts.
SELLERS_KINDS = PAYOUTS | {
    "charge", "payment", "sale", "order", "refund", "payment refund", "refund failure", "payment failure refund",
    "fee", "stripe fee", "application fee", "adjustment", "dispute", "chargeback", "transfer", "reserve",
    "zahlung", "verkauf", "erstattung", "gebuhr",
}  # fmt: skip
# What the accounts of a seller and of a buyer both call their rows.
SALE_KINDS = frozenset({"charge", "sale", "refund", "fee", "adjustment", "dispute", "chargeback"})
# The number of an account in a chart of accounts, which is shorter than any that a bank gives.
_CHART_ACCOUNT = re.compile(r"[0-9]{3,8}")
OPPOSITE = {"printed": "flipped", "flipped": "printed"}


class SignRule(NamedTuple):
    """How signs are read (see `ReadingTerms`), why, and what remains open ("" is nothing)."""

    sign: str
    why: str
    problem: str = ""
    balances: str = "printed"
    code: str = UNPROVEN
    is_by_titles: bool = False  # marks are given by titles between the rows


class SignedRow(NamedTuple):
    """A row of the table with what its words say."""

    row: StatementRow
    evidence: Evidence


def decide_sign(
    layout: ColumnLayout,
    rows: Sequence[Cells],
    terms: ReadingTerms,
    hints: Hints,
    *,
    title: int = 0,
    profile: ColumnProfile | None = None,
) -> SignRule:
    """The rule for the signs of a table; `title` is the direction of a title above it."""
    if hints.sign:
        return SignRule(hints.sign, "the source type says so")
    if headings.is_card(layout.headings) or (profile is not None and profile.is_card):
        hints = msgspec.structs.replace(hints, is_card=True)
    body = booked_rows(layout, rows[:EVIDENCE_ROWS])
    if not body and layout.amount < 0:
        return _printed_columns(layout, rows, terms)
    if not body:
        return SignRule("printed", "there is no row")
    if profile is not None and (known := _by_profile(layout, body, terms, profile)):
        return known
    if layout.amount < 0:
        return _columns(layout, body, _printed_columns(layout, rows, terms), terms)
    values = [read for row, _ in body if (read := money.read_amount(row.amount, terms.decimal))]
    has_minus = any(read.value < 0 for read in values)
    marks = {money.mark_sign(read.mark) for read in values if read.mark}
    if marks and not has_minus and any(not read.mark for read in values):
        return _partial_marks(marks)
    if layout.mark >= 0 and not has_minus:
        return _rule_by_marks(layout, body, terms)
    if not has_minus and not marks and (plus := _plus_rule(layout, body, terms)):
        return plus
    if not has_minus and not marks and (sections := _section_rule(layout, rows, title)):
        return sections
    return _one_column(layout, body, terms, hints, is_signed=has_minus or bool(marks))


def _partial_marks(marks: Set[int]) -> SignRule:
    """Where only one side is marked, what has no mark is of the other; else normalization flags it."""
    if marks == {1}:
        why = "credits are marked, so amounts without a mark are debits"
        return SignRule("marks_else_debit", why)
    if marks == {-1}:
        why = "debits are marked, so amounts without a mark are credits"
        return SignRule("marks_else_credit", why)
    return SignRule("marks", "debits and credits are marked")


def _plus_rule(
    layout: ColumnLayout, body: Sequence[SignedRow], terms: ReadingTerms
) -> SignRule | None:
    """Where only some amounts have a plus sign and none a minus, the others are debits; a balance may refute it."""
    has_plus = [interpret.has_plus(row.amount) for row, _ in body if row.amount.strip()]
    if all(has_plus) or not any(has_plus):
        return None
    why = "credits have a plus sign, so amounts without one are debits"
    proof = _ChainProof(body, terms, ("plus_else_debit", "printed"))
    if layout.balance >= 0 and proof.holds and "plus_else_debit" not in proof.holds:
        return None
    return SignRule("plus_else_debit", why)


def _by_profile(
    layout: ColumnLayout, body: Sequence[SignedRow], terms: ReadingTerms, profile: ColumnProfile
) -> SignRule | None:
    """The sign that exports of a bank print; a problem where balances or words refute it."""
    sign = profile.sign
    if not sign or sign.startswith("columns") != (layout.amount < 0):
        return None
    why = f"exports of {profile.name} print it so"
    opposite = OPPOSITE.get(sign) or _swap(sign)
    holds = _ChainProof(body, terms, (sign, opposite)).holds if layout.balance >= 0 else set()
    if holds == {opposite} or (not holds and _votes(body, terms, sign).is_refuted):
        problem = f"{why}, but balances or words of this file say the opposite"
        return SignRule(sign, why, problem, code=CONTRADICTED)
    return SignRule(sign, why)


def balances_prove(layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms) -> bool:
    """Whether the balances of a table follow from its amounts, as they are read."""
    if layout.balance < 0:
        return False
    return _chain_holds(booked_rows(layout, rows[:EVIDENCE_ROWS]), terms, terms.sign)


def refuted_by_balances(layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms) -> str:
    """The role of a column without which balances follow from row to row, and with which they do not; "" for none.

    They may count rows that are not booked by their status, or run on over what was taken for several accounts.
    """
    if layout.balance < 0 or (layout.status < 0 and layout.account < 0):
        return ""
    if not _chain_counts(booked_rows(layout, rows), terms, terms.sign)[1]:
        return ""
    # What is reserved and not booked is taken off what is available, too.
    is_available = bool(_AVAILABLE.search(headings.simplify(layout.headings[layout.balance])))
    for role in ("status", "account"):
        if getattr(layout, role) >= 0 and not (role == "status" and is_available):
            bare = booked_rows(msgspec.structs.replace(layout, **{role: -1}), rows)
            links, breaks = _chain_counts(bare, terms, terms.sign)
            if links > 0 and not breaks:
                return role
    return ""


_AVAILABLE = re.compile(
    r"availab|disponi|verfugbar|beschikbaar|tilganglig|tillganglig|rådig|radig|kaytettaviss|dostepn|k dispozici"
    r"|kullanilabilir|доступн|可用|可動用"
)


def owed_ends(
    layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms, facts: Mapping[str, str]
) -> ReadingTerms:
    """The terms with balances that are a debt, where words bear out the signs and only so opening leads to closing."""
    ends = [money.amount(facts.get(name, ""), terms.decimal) for name in ("opening", "closing")]
    if layout.balance >= 0 or terms.balances == "owed" or None in ends:
        return terms
    body = booked_rows(layout, rows)
    values = [value.amount for row, _ in body if (value := _value(row, terms)) is not None]
    gap = ends[1] - ends[0]  # type: ignore[operator]
    votes = _votes(body, terms, terms.sign)
    if not gap or sum(values) != -gap or not votes.strong_agree or votes.strong_against:
        return terms
    return msgspec.structs.replace(terms, balances="owed")


def is_borne_out(layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms) -> bool:
    """Whether a strong word of any row agrees with its sign, as it is read."""
    return _votes(booked_rows(layout, rows), terms, terms.sign).strong_agree > 0


def booked_rows(layout: ColumnLayout, rows: Sequence[Cells]) -> list[SignedRow]:
    """The rows that are booked, with their evidence: what failed or is not yet booked moves no balance."""
    make, skipped = layout.maker(), {layout.date, layout.value_date, *layout.amounts}
    worded = [i for i in range(layout.width) if i not in skipped]
    same = _repeated_columns(layout, rows)
    own = [i for i in worded if i not in same]
    found: list[SignedRow] = []
    for cells in rows:
        if len(cells) != layout.width or (
            layout.status >= 0 and booking.booking_status(cells[layout.status])
        ):
            continue
        printed = cells[layout.date].strip() if layout.date >= 0 else ""
        if printed and not any(map(str.isdigit, printed)):
            continue  # a word in place of a day: `Total`, whose sign says nothing of those of the rows
        said = evidence_of(cells[i] for i in own)
        if not said.direction and len(own) < len(worded):
            said = evidence_of(cells[i] for i in worded)
        found.append(SignedRow(make(0, [*cells, ""]), said))
    return found


def _repeated_columns(layout: ColumnLayout, rows: Sequence[Cells]) -> set[int]:
    """Columns with one text in all rows: a name of the account ("Barclays Debit") weighs less than words of a row."""
    booked = [cells for cells in rows if len(cells) == layout.width]
    if len(booked) < 2:
        return set()
    return {i for i in range(layout.width) if len({cells[i] for cells in booked}) == 1}


def _section_rule(layout: ColumnLayout, rows: Sequence[Cells], title: int) -> SignRule | None:
    """Marks by titles between the rows, where every row stands below one."""
    current, seen = title, set[int]()
    for cells in rows:
        current = section_title(cells) or current
        if len(cells) == layout.width and dates.is_date(cells[layout.date]):
            seen.add(current)
    if not seen or 0 in seen:
        return None
    why = "titles between the rows say what is money in and what is money out"
    return SignRule("marks", why, is_by_titles=True)


def section_title(cells: Cells) -> int:
    """The direction that a row with nothing but a title gives to those below it; 0 for any other row."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return section_direction(filled[0]) if len(filled) == 1 else 0


def _is_journal(body: Sequence[SignedRow]) -> bool:
    """Whether each row names two accounts of a chart of accounts, which are short numbers: then these are books."""
    accounts: dict[str, list[str]] = {}
    for row, _ in body:
        for name, text in (*row.more.items(), *((("", row.account),) if row.account else ())):
            if not name or headings.role_of(name) == "account" or headings.is_contra_account(name):
                accounts.setdefault(name, []).append(text.strip())
    numbered = [
        name
        for name, texts in accounts.items()
        if len(texts) == len(body) and all(map(_CHART_ACCOUNT.fullmatch, texts))
    ]
    return len(numbered) > 1 and any(map(headings.is_contra_account, numbered))


def _rule_by_marks(
    layout: ColumnLayout, body: Sequence[SignedRow], terms: ReadingTerms
) -> SignRule:
    name = layout.headings[layout.mark]
    why = f"the column {name!r} says debit or credit"
    if _is_journal(body):
        # In the books of who has the account, money that comes in is a debit of the bank's account.
        problem = (
            f"{why} of an account in books, and nothing says which of the accounts is the bank's"
        )
        return SignRule("marks", why, problem)
    if layout.balance >= 0:
        proof = _ChainProof(body, terms, ("marks", "marks_reversed"))
        if proof.holds == {"marks_reversed"}:
            problem = f"{why}, but the balances follow only if it means the opposite"
            return SignRule("marks", why, problem, code=CONTRADICTED)
        if proof.holds:
            return SignRule("marks", why)
    marks = [row.mark.strip() for row, _ in body if row.amount.strip()]
    if "" not in marks:
        return SignRule("marks", why)
    rule = _partial_marks({money.mark_sign(mark) for mark in marks if mark})
    votes = _votes(body, terms, rule.sign)
    if rule.sign == "marks" or (votes.agree and not votes.strong_against):
        return rule
    return rule._replace(problem=f"{why}, but {marks.count('')} rows have none")


def _columns(
    layout: ColumnLayout, body: Sequence[SignedRow], rule: SignRule, terms: ReadingTerms
) -> SignRule:
    proof = _ChainProof(body, terms, (rule.sign, _swap(rule.sign)))
    if layout.is_headed:
        return _headed_columns(rule, proof, body, terms)
    # Without headings only the balances show which of the two columns is which.
    if proof.holds == {rule.sign}:
        return SignRule(rule.sign, f"{rule.why}: with the first as debits the statement adds up")
    if proof.holds and rule.sign == "columns":
        return SignRule(
            "columns_swapped", "two columns: with the first as credits the statement adds up"
        )
    votes = _votes(body, terms, rule.sign)
    if rule.sign == "columns_signed" and votes.agree and not votes.against:
        return SignRule(rule.sign, f"{rule.why}, and words of the rows agree with them")
    problem = (
        "neither a heading nor a balance shows which of two columns is debits; the first was taken"
    )
    return SignRule(rule.sign, rule.why, problem)


def _headed_columns(
    rule: SignRule, proof: "_ChainProof", body: Sequence[SignedRow], terms: ReadingTerms
) -> SignRule:
    """Two columns with headings, which are believed; balances may run against them only as a debt does."""
    votes = _votes(body, terms, rule.sign)
    if proof.holds == {_swap(rule.sign)}:
        if votes.is_refuted and len(body) >= UNNAMED_ROWS and _is_in_credit(body, terms):
            why = "as in the books of who has the account, debits are money in: balances and words say so"
            return SignRule(_swap(rule.sign), why)
        if votes.strong_agree and not votes.strong_against and len(body) >= UNNAMED_ROWS:
            why = f"{rule.why}; balances fall with credits, so the printed balance is a debt"
            return SignRule(rule.sign, why, balances="owed")
        problem = "by the balances, the column of debits is money in: nothing says which is right"
        return SignRule(rule.sign, rule.why, problem, balances="owed")
    if not proof.holds and votes.is_doubted:
        problem = f"{votes.strong_against} rows have words that contradict the headings of debit and credit"
        return SignRule(rule.sign, rule.why, problem, code=CONTRADICTED)
    return SignRule(rule.sign, rule.why) if rule.sign in proof.holds else rule


def _is_in_credit(body: Sequence[SignedRow], terms: ReadingTerms) -> bool:
    """Whether no printed balance is below nothing, as those of a deposit."""
    values = [money.amount(row.balance, terms.decimal) for row, _ in body]
    return all(value is None or value >= 0 for value in values)


def _printed_columns(layout: ColumnLayout, rows: Sequence[Cells], terms: ReadingTerms) -> SignRule:
    """The rule for two columns by the signs that are printed in them, also in rows that are not booked yet."""
    # A total or a balance below such a column has no date, and often another sign.
    fitting = [
        cells
        for cells in rows[:EVIDENCE_ROWS]
        if len(cells) == layout.width and (layout.date < 0 or cells[layout.date].strip())
    ]
    out, come = (
        [
            read.value  # without the mark beside it, which only repeats what the column says
            for cells in fitting
            if at >= 0 and (read := money.read_amount(cells[at], terms.decimal)) and read.value
        ]
        for at in (layout.debit, layout.credit)
    )
    if out and all(value < 0 for value in out) and not (come and all(v < 0 for v in come)):
        return SignRule("columns_signed", "two columns; debits carry a minus sign")
    if come and all(value < 0 for value in come):
        return SignRule("columns_absolute", "two columns; the sign of credits is that of a debt")
    why = "two columns: debits and credits"
    if len({value > 0 for value in out}) > 1:
        problem = (
            "some debits have a minus and others none: which of them are reversals is not proven"
        )
        return SignRule("columns", why, problem)
    return SignRule("columns", why)


def _swap(sign: str) -> str:
    return {"columns": "columns_swapped", "columns_signed": "columns_signed_swapped"}.get(
        sign, "columns_absolute_swapped"
    )


def _one_column(
    layout: ColumnLayout,
    body: Sequence[SignedRow],
    terms: ReadingTerms,
    hints: Hints,
    *,
    is_signed: bool,
) -> SignRule:
    """One column of amounts, signed or not."""
    votes = _votes(body, terms, "printed")
    marked = _mark_votes(layout, body, terms)
    if marked.agree and marked.against:
        name = layout.headings[layout.mark]
        problem = f"the signs of {marked.against} amounts contradict the column {name!r}"
        return SignRule("printed", "amounts carry their sign", problem, code=CONTRADICTED)
    holds = _ChainProof(body, terms, ("printed", "flipped")).holds if layout.balance >= 0 else set()
    if holds == {"flipped"}:
        return _flipped_by_balances(layout, len(body), votes, is_signed=is_signed)
    if holds == {"printed"}:
        return _printed_by_balances(body, terms, hints, votes)
    name = layout.headings[layout.amount]
    if headings.names_charges(name) and _is_owed(body, terms) and not votes.strong_agree:
        return SignRule("flipped", f"amounts below {name!r} were charged")
    if not is_signed:
        return _unsigned_rule(hints, votes, body)
    if marked.agree and {money.mark_sign(row.mark) for row, _ in body} >= {1, -1}:
        name = layout.headings[layout.mark]
        return SignRule("printed", f"amounts carry their sign, and the column {name!r} agrees")
    if not hints.is_card and _is_sellers(layout, body):
        why = "amounts carry their sign; on the account of a seller, refunds and payouts are money out"
        return SignRule("printed", why)
    rule = _by_words(body, terms, hints, votes)
    if rule.sign == "flipped" and not rule.problem and not hints.is_card and _may_be_sellers(body):
        problem = "charges and refunds are those of a buyer's card or of a seller, and no payment tells which"
        return SignRule("printed", "amounts carry their sign", problem)
    is_marked = marked.against and not marked.agree and not hints.is_card
    if rule.sign == "flipped" and not rule.problem and is_marked and not _is_owed(body, terms):
        # A card prints what is charged without a minus. Here most amounts have one, and by the marks most are money in.
        problem = f"the column {layout.headings[layout.mark]!r} says the opposite of all signs"
        return SignRule("printed", "amounts carry their sign", problem, code=CONTRADICTED)
    if rule.sign == "printed" and not rule.problem and marked.against:
        # Words and marks contradict each other on the same rows, so that neither was counted.
        problem = f"the column {layout.headings[layout.mark]!r} says the opposite of all signs"
        return SignRule("printed", rule.why, problem, code=CONTRADICTED)
    return rule


def _may_be_sellers(body: Sequence[SignedRow]) -> bool:
    """Whether a column of kinds has charges and refunds, and nothing that only one side of a sale has."""
    return any(
        "refund" in said and said & {"charge", "sale"} and said - {""} <= SALE_KINDS
        for said in _kinds(body)
    )


def _is_sellers(layout: ColumnLayout, body: Sequence[SignedRow]) -> bool:
    """Whether the words of a table are those of who sells: a refund is money out there, a charge is money in.

    Such a table has a column of kinds with payouts and only what sellers have beside them, or what is left of each
    amount after its fee. A payout alone is also what an exchange or a bookmaker pays to the holder of any account.
    """
    names = {headings.simplify(name) for name in layout.headings}
    has_fee = any(headings.role_of(name) == "fee" for name in layout.headings)
    if has_fee and not names.isdisjoint(NET_NAMES):
        return True
    return any(said & PAYOUTS and said - {""} <= SELLERS_KINDS for said in _kinds(body))


def _kinds(body: Sequence[SignedRow]) -> Iterable[set[str]]:
    """The texts of each column that may tell the kind of a row."""
    kinds: dict[str, set[str]] = {}
    for row, _ in body:
        own = (("", row.category), (" ", row.mark), ("  ", row.description))
        for name, text in (*own, *row.more.items()):
            kinds.setdefault(name, set()).add(headings.simplify(text))
    return kinds.values()


def _flipped_by_balances(
    layout: ColumnLayout, count: int, votes: DirectionVotes, *, is_signed: bool
) -> SignRule:
    """Positive amounts reduce the printed balance: they are debits of a deposit, or payments of a debt.

    A sign that is printed is turned only where a word bears that out, too: both add up alike.
    """
    if votes.strong_agree > votes.strong_against and not votes.strong_against:
        why = "balances fall with positive amounts, which by their words are money in: they are a debt"
        return SignRule("printed", why, balances="owed")
    if is_signed and (votes.agree or not votes.strong_against):
        problem = "balances run against the printed signs: a debt, or turned signs, and no word tells which"
        return SignRule("printed", "amounts carry their sign", problem, balances="owed")
    why = "the statement adds up only if positive amounts are debits"
    if not layout.is_headed and count < UNNAMED_ROWS:
        problem = (
            f"{why}, but its columns have no known heading, and {count} rows may add up by chance"
        )
        return SignRule("flipped", why, problem)
    return SignRule("flipped", why)


def _printed_by_balances(
    body: Sequence[SignedRow], terms: ReadingTerms, hints: Hints, votes: DirectionVotes
) -> SignRule:
    """Balances follow from the amounts as printed: those of a deposit, or both those of a debt."""
    debt = "balances grow with positive amounts, which are purchases: the printed balance is a debt"
    if votes.decisive_against and votes.is_refuted:
        return SignRule("flipped", debt, balances="owed")
    share = CLEARLY_IN if len(body) >= MANY and not hints.is_card else MAJORITY
    is_deposit = not hints.is_card and _is_of_deposits(body, terms)
    if votes.clear_agree or is_deposit or not _is_owed(body, terms, share=share):
        if hints.is_card and votes.is_doubted:
            problem = f"words of {votes.against} rows contradict their printed sign"
            return SignRule("printed", "amounts and balances carry their sign", problem)
        return SignRule("printed", "amounts carry their sign, and the statement adds up")
    problem = "most amounts are positive; a debt and a deposit add up alike, and no word tells which it is"
    if not hints.is_card:
        return SignRule("printed", "amounts carry their sign, and the statement adds up", problem)
    return SignRule("flipped", debt, problem, balances="owed")


def _unsigned_rule(hints: Hints, votes: DirectionVotes, body: Sequence[SignedRow]) -> SignRule:
    # By what a row is, not by what else stands on it: an account may be called one for salaries, and who writes a text
    # may tell of a transfer from his own account. What kind of row it is, a bank says from the side of the account.
    is_plus = all(interpret.has_plus(row.amount) for row, _ in body)
    said = [
        (row.mark, row.category, *_kind_texts(row), *([row.description] if is_plus else []))
        for row, _ in body
    ]
    own = [evidence_of(texts) for texts in said]
    own_in = [each for each in own if each.direction > 0 and each.strength >= STRONG]
    if not is_plus and any(map(may_be_paid_out, said)):
        own_in = []  # without a sign, who paid a salary or a refund lists it as who got it does
    if not hints.is_card and votes.strong_agree == len(own_in) == len(body):
        return SignRule("printed", "no amount has a sign, and words of every row call it money in")
    if hints.is_card and votes.strong_against >= SEVERAL and not votes.agree:
        return SignRule("flipped", "charges of a card have no sign, and words call them purchases")
    if hints.is_card:
        why = "charges of a card are printed without a sign"
        return SignRule("flipped", why, f"{why}; no balance proves that they are debits")
    problem = "no amount has a minus sign and nothing distinguishes debits from credits"
    return SignRule("printed", "amounts carry no sign", problem)


def _kind_texts(row: StatementRow) -> Iterable[str]:
    """What further columns say of the kind of a row, by their headings."""
    return (t for n, t in row.more.items() if not _KINDS.isdisjoint(headings.simplify(n).split()))


_KINDS = frozenset(
    "type typ tipo kind art rodzaj soort action activity transaktionstyp umsatzart tipologia".split()
)


def _by_words(
    body: Sequence[SignedRow],
    terms: ReadingTerms,
    hints: Hints,
    votes: DirectionVotes,
) -> SignRule:
    """Signed amounts without balances: the printed sign, unless words say the opposite and none agrees."""
    if votes.is_refuted:
        why = "by their words, positive amounts are purchases and negative ones payments"
        return SignRule("flipped", why)
    is_contested = votes.against > (votes.agree + votes.against) * MINORITY
    if votes.strong_against and is_contested and (votes.strong_against > 1 or not votes.agree):
        problem = f"words of {votes.against} rows contradict their printed sign, those of {votes.agree} agree"
        return SignRule("printed", "amounts carry their sign", problem)
    if votes.clear_agree:
        return SignRule("printed", "amounts carry their sign, and words agree with them")
    if hints.is_card and _is_owed(body, terms):
        why = "most amounts of the card are positive, so they are purchases"
        return SignRule("flipped", why, f"{why}; no balance and no word proves it")
    share = CLEARLY_OUT if len(body) >= MANY else MAJORITY
    if hints.is_card or (_is_owed(body, terms, share=share) and not _is_of_deposits(body, terms)):
        problem = "most amounts are money in as printed, and no balance and no word proves it"
        problem = (
            "no balance and no word proves which sign is money in" if hints.is_card else problem
        )
        return SignRule("printed", "amounts carry their sign", problem)
    return SignRule("printed", "amounts carry their sign")


def _is_owed(body: Sequence[SignedRow], terms: ReadingTerms, *, share: float = MAJORITY) -> bool:
    """Whether most amounts are positive, as purchases of a card are where charges are printed so."""
    values = [v for row, _ in body if (v := money.amount(row.amount, terms.decimal))]
    return sum(value > 0 for value in values) > len(values) * share


def _is_of_deposits(body: Sequence[SignedRow], terms: ReadingTerms) -> bool:
    """Whether each row names its account by an IBAN, or rows of both signs name that of another side.

    Such is no card, and no debt: a card has no IBAN, and is charged by shops that tell none. Who pays it may tell one,
    and the account that it is charged to, the same on each row, stands below a name of its own.
    """
    if _is_of_card_rows(body):
        return False
    if body and all(_IBAN.fullmatch(row.account.strip()) for row, _ in body):
        return True
    columns: dict[str, set[str]] = {}
    for row, _ in body:
        for name, text in row.more.items():
            columns.setdefault(name, set()).add(text.strip())
    own = {name for name, texts in columns.items() if len(texts) > 1 or _is_own_iban(name)}
    named = [
        row
        for row, _ in body
        if any(name in own and _IBAN.fullmatch(text.strip()) for name, text in row.more.items())
    ]
    values = [money.amount(row.amount, terms.decimal) or 0 for row in named]
    return any(value > 0 for value in values) and any(value < 0 for value in values)


def _is_own_iban(heading: str) -> bool:
    """Whether a heading is that of the account itself, and not of one that it is linked to."""
    name = headings.simplify(heading)
    is_unnamed = re.fullmatch(r"column [0-9]+", name) is not None
    return is_unnamed or name == "iban" or headings.role_of(heading) == "account"


def _is_of_card_rows(body: Sequence[SignedRow]) -> bool:
    """Whether each row names the card that it was paid with, as not all rows of an account do."""
    names = {name for row, _ in body for name in row.more}
    return any(
        _CARD.search(headings.simplify(name)) and all(row.more.get(name) for row, _ in body)
        for name in names
    )


_CARD = re.compile(
    r"\b(?:card|kort|karte|carte|tarjet|carta|karta|karty|kortti|kaart|cartao|карт[аы])|(?:card|karte|kaart|kort)\b"
    r"|カード|카드|卡|last (?:4|four)"
)
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}")


def _votes(body: Sequence[SignedRow], terms: ReadingTerms, sign: str) -> DirectionVotes:
    trial = msgspec.structs.replace(terms, sign=sign)
    rows: list[tuple[Evidence, bool]] = []
    for row, evidence in body:
        # Without a word, a row votes for nothing, whatever its value is.
        value = _value(row, trial) if evidence.direction else None
        if value is not None and value.amount:
            rows.append((evidence, value.amount > 0))
    return count_votes(rows)


def _mark_votes(
    layout: ColumnLayout, body: Sequence[SignedRow], terms: ReadingTerms
) -> DirectionVotes:
    """How a column of marks agrees with the printed signs."""
    if layout.mark < 0:
        return DirectionVotes()
    marked = [
        (Evidence(money.mark_sign(row.mark), STRONG), value > 0)
        for row, _ in body
        if (value := money.amount(row.amount, terms.decimal))
    ]
    return count_votes(marked)


class _ChainProof:
    """Which of several readings the chain of balances bears out, in the order of the dates."""

    def __init__(
        self, body: Sequence[SignedRow], terms: ReadingTerms, signs: tuple[str, ...]
    ) -> None:
        self.holds = {sign for sign in signs if _chain_holds(body, terms, sign)}


def _chain_holds(body: Sequence[SignedRow], terms: ReadingTerms, sign: str) -> bool:
    links, breaks = _chain_counts(body, terms, sign)
    return links > 0 and breaks <= links * BROKEN_LINKS


def _chain_counts(body: Sequence[SignedRow], terms: ReadingTerms, sign: str) -> tuple[int, int]:
    """How many balances follow another of the same account and currency, and how many of them not from it."""
    trial = msgspec.structs.replace(terms, sign=sign)
    groups: dict[tuple[str, str], list[RowAmounts]] = {}
    # A blank cell means the only currency that there is.
    is_one = len({row.currency for row, _ in body} - {""}) <= 1
    for row, _ in body:
        if (value := _value(row, trial)) is not None:
            groups.setdefault((row.account, "" if is_one else row.currency), []).append(value)
    results = [_group_breaks(lines) for lines in groups.values()]
    return sum(links for links, _ in results), sum(breaks for _, breaks in results)


def _group_breaks(lines: Sequence[RowAmounts]) -> tuple[int, int]:
    """Links and breaks of one account, in the direction of its dates; the better one where they show none."""
    ways = directions([line.day for line in lines])
    found = [chain_breaks(lines, is_backward=way) for way in ways]
    return min(found, key=lambda each: each[1])


def directions(days: Sequence[date | None]) -> tuple[bool, ...]:
    """Whether rows may run backward in time: by their dates, (False, True) where those show neither."""
    known = [day for day in days if day is not None]
    ups = sum(a < b for a, b in pairwise(known))
    downs = sum(a > b for a, b in pairwise(known))
    if ups == downs:
        return (False, True)
    return (False,) if ups > downs else (True,)


def _value(row: StatementRow, terms: ReadingTerms) -> RowAmounts | None:
    """The values of a row under a reading; None where they cannot be read."""
    try:
        amount = interpret.signed_amount(row, terms)
        after = interpret.balance(row.balance, terms)
    except interpret.UnreadableText:
        return None
    return RowAmounts(amount, after, dates.read_date(row.date, terms.date_order or "dmy"))

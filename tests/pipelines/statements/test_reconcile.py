"""Whether a statement adds up."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stateward.pipelines.statements.reconcile import Reconciler, RowAmounts, reconcile


def lines(*pairs: tuple[str, str | None]) -> list[RowAmounts]:
    return [
        RowAmounts(Decimal(amount), None if balance is None else Decimal(balance))
        for amount, balance in pairs
    ]


def test_opening_and_sum_make_closing() -> None:
    verdict = reconcile(lines(("-10", None), ("4", None)), opening=Decimal(20), closing=Decimal(14))

    assert verdict.is_reconciled


def test_a_difference_is_named() -> None:
    verdict = reconcile(lines(("-10", None)), opening=Decimal(20), closing=Decimal(14))

    assert verdict.status == "differs"
    assert verdict.difference == "-4"
    assert "opening + sum = closing fails: 10, expected 14" in str(verdict)


@pytest.mark.parametrize(
    "chain",
    [
        [("5", "15"), ("-3", "12"), ("1", "13")],
        [("1", "13"), ("-3", "12"), ("5", "15")],
        [("5", None), ("-3", "12"), ("1", None), ("1", "14")],
    ],
    ids=["oldest first", "newest first", "end of day only"],
)
def test_a_chain_of_balances_holds(chain: list[tuple[str, str | None]]) -> None:
    assert reconcile(lines(*chain)).is_reconciled


def test_a_broken_chain_says_where() -> None:
    verdict = reconcile(lines(("5", "15"), ("-3", "12"), ("1", "99"), ("1", "100")))

    assert verdict.status == "differs"
    assert "1 of 3 does not, first at row 3" in str(verdict)


def test_without_anything_printed_nothing_is_proven() -> None:
    verdict = reconcile(lines(("5", None), ("7", None)))

    assert verdict.status == "unchecked"
    assert not verdict.is_reconciled


@pytest.mark.parametrize(
    ("totals", "is_right"),
    [
        ({"debits": "3", "credits": "6"}, True),
        ({"debits": "-3"}, True),
        ({"count": "3", "debit_count": "1", "credit_count": "2"}, True),
        ({"debits": "4"}, False),
        ({"count": "4"}, False),
    ],
)
def test_printed_totals_and_counts_are_checked(totals: dict[str, str], is_right: bool) -> None:
    verdict = reconcile(
        lines(("5", "15"), ("-3", "12"), ("1", "13")),
        totals={name: Decimal(text) for name, text in totals.items()},
    )

    assert verdict.is_reconciled is is_right


def test_dates_far_outside_the_period_are_a_failure() -> None:
    book = Reconciler(
        opening=Decimal(0), closing=Decimal(5), period=(date(2024, 1, 1), date(2024, 1, 31))
    )
    book.add(Decimal(5), None, date(2567, 1, 5))

    assert book.result().status == "differs"
    assert "2567-01-05" in str(book.result())


def test_a_row_that_could_not_be_read_counts_for_the_printed_number() -> None:
    book = Reconciler(totals={"count": Decimal(2)})
    book.add(Decimal(5))
    book.skip()

    assert book.result().checks[0].holds


@given(
    opening=some.integers(-(10**9), 10**9),
    cents=some.lists(some.integers(-(10**7), 10**7).filter(bool), min_size=2, max_size=560),
    is_backward=some.booleans(),
)
def test_a_true_chain_holds_and_one_changed_amount_breaks_it(
    opening: int, cents: list[int], is_backward: bool
) -> None:
    rows, balance = [], Decimal(opening) / 100
    for each in cents:
        balance += Decimal(each) / 100
        rows.append(RowAmounts(Decimal(each) / 100, balance))
    ordered = rows[::-1] if is_backward else rows
    start, end = Decimal(opening) / 100, balance

    assert reconcile(ordered, opening=start, closing=end).is_reconciled

    place = len(ordered) // 2
    wrong = RowAmounts(ordered[place].amount + Decimal("0.01"), ordered[place].balance)
    changed = [*ordered[:place], wrong, *ordered[place + 1 :]]
    assert reconcile(changed, opening=start, closing=end).status == "differs"


def test_printed_totals_of_both_directions_prove_the_rows() -> None:
    lines = [RowAmounts(Decimal(-5)), RowAmounts(Decimal(7))]

    both = reconcile(lines, totals={"debits": Decimal(5), "credits": Decimal(7)})
    one = reconcile(lines, totals={"debits": Decimal(5)})

    assert (both.status, one.status) == ("reconciled", "unchecked")


OLDEST_FIRST = [("-10", "90"), ("-5", "85"), ("100", "185")]
NEWEST_FIRST = OLDEST_FIRST[::-1]


@pytest.mark.parametrize(
    ("chain", "ends", "status"),
    [
        (OLDEST_FIRST, {"closing": 185}, "reconciled"),
        (OLDEST_FIRST, {"closing": 150}, "differs"),
        (OLDEST_FIRST, {"opening": 100}, "reconciled"),
        (NEWEST_FIRST, {"opening": 100}, "reconciled"),
        (NEWEST_FIRST, {"opening": 110}, "differs"),
        (NEWEST_FIRST, {"closing": 185}, "reconciled"),
        ([*OLDEST_FIRST, ("-5", None)], {"closing": 180}, "reconciled"),
        ([*OLDEST_FIRST, ("-5", None)], {"closing": 185}, "differs"),
    ],
)
def test_a_chain_leads_to_the_one_balance_that_is_printed_at_its_other_end(
    chain: list[tuple[str, str | None]], ends: dict[str, int], status: str
) -> None:
    verdict = reconcile(lines(*chain), **{name: Decimal(end) for name, end in ends.items()})  # type: ignore[arg-type]

    assert verdict.status == status
    assert ("the balance at the end of the chain fails" in str(verdict)) == (status == "differs")

"""A reading is accepted only if its rivals fail: what else a table could mean is said."""

from decimal import Decimal
from pathlib import Path

import pytest

from lab.documents.banks.__main__ import draw
from lab.documents.banks.layouts import THIRD
from stateward.pipelines.kit import dates
from stateward.pipelines.statements.booking import booking_status, is_known
from stateward.pipelines.statements.reconcile import Reconciler
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud, rows


def test_two_columns_that_could_be_the_amounts_are_doubted(tmp_path: Path) -> None:
    text = "Date,Text,Amount,Value\n2026-01-13,Shop,-10.00,-12.00\n2026-01-14,Bar,-20.00,-20.00\n"

    assert loud(read_bytes(tmp_path, text)) == ["AMOUNT_UNPROVEN"]


def test_an_amount_with_its_fees_goes_before_the_one_without(tmp_path: Path) -> None:
    text = "Date,Text,Amount,Fee,Net\n2026-01-13,Sale,100.00,3.00,97.00\n2026-01-14,Payout,-50.00,0.00,-50.00\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["97.00", "-50.00"]
    assert loud(read) == []


def test_whole_numbers_are_cents_where_the_heading_says_so_and_doubted_where_none_does(
    tmp_path: Path,
) -> None:
    body = "".join(f"2026-01-{day},Shop,-1{day}5,EUR\n" for day in range(13, 20))

    named = read_bytes(tmp_path, f"Date,Text,amount_in_cents,Currency\n{body}")
    bare = read_bytes(tmp_path, f"Date,Text,Amount,Currency\n{body}")

    assert named.amounts[0] == "-11.35"
    assert loud(named) == []
    assert loud(bare) == ["UNIT_UNPROVEN"]


def test_a_currency_beside_rows_is_that_of_other_amounts_if_the_heading_names_one(
    tmp_path: Path,
) -> None:
    text = "Date,Text,Total (AUD),Currency\n2026-01-13,Shop,-10.00,USD\n2026-01-14,Bar,-20.00,\n"

    assert [each["currency"] for each in read_bytes(tmp_path, text).canonicals] == ["AUD", "AUD"]


def test_a_date_of_the_same_row_goes_before_the_one_above_and_is_doubted(tmp_path: Path) -> None:
    text = (
        "Process Date,Zug,Text,Amount\n01/13/2026,01/13/2026,Shop,-10.00\n,01/15/2026,Bar,-20.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert rows(read) == [("2026-01-13", "-10.00"), ("2026-01-15", "-20.00")]
    assert loud(read) == ["DATE_UNPROVEN"]


def test_a_side_without_a_known_name_is_the_one_that_is_filled_where_the_other_is_not(
    tmp_path: Path,
) -> None:
    text = (
        "Date,Text,Debit,Zufluss,Info\n2026-01-13,Shop,10.00,0.00,a\n2026-01-14,Pay,0.00,20.00,b\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-10.00", "20.00"]


def test_a_plus_on_some_amounts_makes_the_others_debits(tmp_path: Path) -> None:
    text = (
        "Date,Text,Amount,Balance\n2026-01-13,Shop,10.00,90.00\n"
        "2026-01-14,Pay,+20.00,110.00\n2026-01-15,Bar,5.00,105.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-10.00", "20.00", "-5.00"]
    assert loud(read) == []


def test_a_last_row_that_is_the_sum_of_others_is_suspected() -> None:
    debits, plain = Reconciler(), Reconciler()
    for amount in (-10, 5, -20, 7, -31):
        debits.add(Decimal(amount))
        plain.add(Decimal(amount))
    debits.add(Decimal(-61))
    plain.add(Decimal(-60))

    assert debits.suspected_total() == -61
    assert plain.suspected_total() is None


def test_a_newest_row_without_a_balance_may_not_be_booked() -> None:
    edge, within = Reconciler(), Reconciler()
    for at, balance in enumerate((None, 50, 40, 30)):
        edge.add(Decimal(-10), None if balance is None else Decimal(balance))
        within.add(Decimal(-10), None if at == 1 else Decimal(at))

    assert (edge.unbooked_edge(), within.unbooked_edge()) == (1, 0)


def test_a_status_is_known_by_a_word_of_it_that_nothing_denies() -> None:
    assert booking_status("PAYMENT CANCELED") == "failed"
    assert (booking_status("Payment sent"), is_known("Payment sent")) == ("", True)
    assert booking_status("not completed") == "failed"
    assert not is_known("not as usual completed")


@pytest.mark.parametrize(
    "text",
    [
        "令和8年1月5日",
        "R08.01.05",
        "2026년 1월 5일",
        "\u0662\u0660\u0662\u0666/\u0660\u0661/\u0660\u0665",
    ],
)
def test_days_of_other_calendars_and_digits_are_read(text: str) -> None:
    assert str(dates.read_date(text, "dmy")) == "2026-01-05"


@pytest.mark.parametrize("name", ["handelsbanken", "swedbank-ee", "alipay", "klikbca", "sberbank"])
def test_layouts_of_the_third_set_that_were_silent_or_unread_are_exact(
    tmp_path: Path, name: str
) -> None:
    layout = next(each for each in THIRD if each.name == name)
    content, truth = draw(layout, 90210, is_mutated=False)

    read = read_bytes(tmp_path, content)

    expected = sorted((row["date"], row["amount"]) for row in truth["transactions"])  # type: ignore[attr-defined]
    booked = [e for e in read.canonicals if not e.get("is_pending")]
    assert sorted((e["date"], e["amount"]) for e in booked) == expected
    assert loud(read) == []

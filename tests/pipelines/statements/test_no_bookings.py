"""Figures that are no balances, and rows that are not booked: neither changes what a table says in silence."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

ROWS = [
    ("Abcd", "-10.00", "110"),
    ("Efgh", "-7.00", "117"),
    ("Ijkl", "-50.00", "167"),
    ("Mnop", "-20.00", "187"),
]


@pytest.mark.parametrize("heading", ["Points", "Miles", "Loyalty total", "Punktestand"])
def test_points_that_grow_by_what_is_spent_are_no_balances(tmp_path: Path, heading: str) -> None:
    lines = [
        f"2026-03-0{day},{text},{amount},{points}"
        for day, (text, amount, points) in enumerate(ROWS, start=1)
    ]

    read = read_bytes(tmp_path, "\n".join([f"Date,Description,Amount,{heading}", *lines]) + "\n")

    assert read.amounts == ["-10.00", "-7.00", "-50.00", "-20.00"]
    assert not any(row.get("balance") for row in read.canonicals)


@pytest.mark.parametrize("is_headed", [True, False])
def test_balances_that_run_against_the_printed_signs_turn_none_of_them(
    tmp_path: Path, is_headed: bool
) -> None:
    lines = [
        f"2026-03-0{day},{text},{amount},{after}.00"
        for day, (text, amount, after) in enumerate(ROWS, start=1)
    ]
    head = ["Date,Description,Amount,Balance"] if is_headed else []

    read = read_bytes(tmp_path, "\n".join([*head, *lines]) + "\n")

    assert read.amounts == ["-10.00", "-7.00", "-50.00", "-20.00"]
    assert "SIGN_UNPROVEN" in read.flags


def test_words_tell_that_such_balances_are_a_debt(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Date,Description,Amount,Balance\n"
        "2026-03-01,Purchase Zara,-10.00,110.00\n2026-03-02,Card purchase,-7.00,117.00\n"
        "2026-03-03,Payment received thank you,50.00,67.00\n2026-03-04,Purchase Lidl,-20.00,87.00\n",
    )

    assert read.amounts == ["-10.00", "-7.00", "50.00", "-20.00"]
    assert [row["balance"] for row in read.canonicals] == ["-110.00", "-117.00", "-67.00", "-87.00"]
    assert read.flags == []


@pytest.mark.parametrize(
    ("text", "is_booked"),
    [
        ("ZAKUP PRZY UŻYCIU KARTY   ZABKA transakcja nierozliczona", False),
        ("AMAZON (pending authorization)", False),
        ("VISA Opération en attente", False),
        ("PENDING RECORDS LONDON", True),
    ],
)
def test_a_text_that_says_so_is_not_booked(tmp_path: Path, text: str, is_booked: bool) -> None:
    read = read_bytes(
        tmp_path,
        f"Data operacji;Opis operacji;Kwota\n2026-03-05;{text};-5,00\n2026-03-04;BIEDRONKA;-10,00\n"
        "2026-03-03;PRZELEW FIRMA;100,00\n",
    )

    assert [row.get("is_pending", False) for row in read.canonicals] == [
        not is_booked,
        False,
        False,
    ]


def test_a_balance_shows_that_a_row_is_booked_whatever_its_text_says(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Date,Description,Amount,Balance\n"
        "2026-03-01,Pending transaction fee,-1.00,99.00\n2026-03-02,Shop,-9.00,90.00\n",
    )

    assert not any(row.get("is_pending") for row in read.canonicals)


@pytest.mark.parametrize("is_last", [True, False])
def test_a_row_at_the_edge_that_lacks_what_all_others_have_is_suspected(
    tmp_path: Path, is_last: bool
) -> None:
    rows = [
        "01/03/2026;-10,00;Carte;CB CARREFOUR;Divers",
        "13/03/2026;1500,00;Virement;VIREMENT EMPLOYEUR;Divers",
        "14/03/2026;-45,50;Prélèvement;PRLV EDF;Divers",
    ]
    balance = "31/03/2026;2345,67;;01234 012345A;"

    read = read_bytes(tmp_path, "\n".join([*rows, balance] if is_last else [balance, *rows]) + "\n")

    assert "TOTAL_SUSPECTED" in read.flags


def test_a_balance_at_the_edge_that_is_called_so_is_not_suspected(tmp_path: Path) -> None:
    rows = [f"HIST,2026030{day},-{day}.50,SHOP {day},CARD" for day in range(1, 5)]
    ends = [",20260301,100.00,OPEN BALANCE,", ",20260309,88.00,CLOSE BALANCE,"]

    read = read_bytes(tmp_path, "\n".join([ends[0], *rows, ends[1]]) + "\n")

    assert read.flags == []
    assert len(read.amounts) == 4


def test_the_shape_of_an_export_of_commbank_decides_its_dates(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        '05/01/2026,"-25.00","WOOLWORTHS","+975.00"\n04/01/2026,"+100.00","SALARY","+1000.00"\n',
    )

    assert read.dates == ["2026-01-05", "2026-01-04"]


def test_headings_that_any_portuguese_account_has_turn_no_sign(tmp_path: Path) -> None:
    text = "data,lançamento,valor\n2026-01-05,PADARIA,-25.00\n2026-01-09,SALARIO,100.00\n"

    assert read_bytes(tmp_path, text).amounts == ["-25.00", "100.00"]


def test_a_status_goes_before_a_text_that_speaks_of_what_is_pending(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Date,Description,Amount,Status\n2026-03-05,Pending transaction cleared,-5.00,Completed\n"
        "2026-03-04,Shop,-10.00,Completed\n",
    )

    assert not any(row.get("is_pending") for row in read.canonicals)


def test_a_first_row_that_says_what_it_is_may_have_no_name_and_account(tmp_path: Path) -> None:
    rows = [f"2026-03-0{day};Lastschrift;Shop {day};DE{day}1;-{day},50" for day in range(1, 5)]
    fee = "2026-03-31;Entgeltabschluss;;;-3,90"

    read = read_bytes(
        tmp_path, "\n".join(["Buchungstag;Verwendungszweck;Name;IBAN;Betrag", fee, *rows]) + "\n"
    )

    assert "TOTAL_SUSPECTED" not in read.flags

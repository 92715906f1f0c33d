"""What is read by the words of a name, and by sums where names say nothing."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.headings import role_of, whole_fact
from tests.pipelines.statements.reading import read_bytes


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("Datum der Buchung", "date"),
        ("Booked on (date)", "date"),
        ("Ausführungsdatum", "date_plain"),
        ("Importo dell'operazione", "amount"),
        ("Saldo vor Buchung", "before"),
        ("Saldo nach Umsatz", "balance"),
        ("Bedrag af", "debit"),
        ("Montant en devise d'origine", "other"),
        ("Amount net of fees", "amount"),
        ("Credit limit", ""),
        ("Credit card", ""),
        ("Statement date", ""),
    ],
)
def test_a_heading_is_understood_by_all_of_its_words_or_not_at_all(heading: str, role: str) -> None:
    assert role_of(heading) == role


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("SALDO TOTAL DISPONIVEL DIA", "closing"),
        ("Suma obciążeń", "debits"),
        ("Total des mouvements", "total"),
        ("TOTAL FITNESS", ""),
        ("Balance Yoga Studio", ""),
    ],
)
def test_a_label_is_one_only_if_all_of_its_words_are(text: str, fact: str) -> None:
    assert whole_fact(text) == fact


DAILY = {
    "oldest first": "Data;Histórico;Valor\n02/03/2026;PADARIA;-50,00\n02/03/2026;SALDO DO DIA;950,00\n"
    "15/03/2026;SALARIO;1.000,00\n15/03/2026;SALDO DO DIA;1.950,00\n",
    "newest first": "Data;Histórico;Valor\n15/03/2026;SALDO DO DIA;1.950,00\n15/03/2026;SALARIO;1.000,00\n"
    "02/03/2026;SALDO DO DIA;950,00\n02/03/2026;PADARIA;-50,00\n",
    "dated": "Datum;Text;Betrag\n02.03.2026;REWE;-50,00\n02.03.2026;Kontostand am 02.03.2026;950,00\n"
    "15.03.2026;Gehalt;1000,00\n15.03.2026;Kontostand am 15.03.2026;1950,00\n",
}


@pytest.mark.parametrize("text", DAILY.values(), ids=DAILY)
def test_a_balance_after_each_day_is_no_booking(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert sorted(read.amounts) == ["-50.00", "1000.00"]
    assert read.notes == ["NOT_CHECKED"]


def test_a_dated_row_with_the_sums_of_both_sides_is_a_total(tmp_path: Path) -> None:
    head = "Date;Libellé;Débit;Crédit\n02/03/2026;CARREFOUR;50,00;\n15/03/2026;SALAIRE;;1000,00\n"

    assert read_bytes(
        tmp_path, f"{head}31/03/2026;TOTAL DES MOUVEMENTS;50,00;1000,00\n"
    ).amounts == [
        "-50.00",
        "1000.00",
    ]
    other = read_bytes(tmp_path, f"{head}31/03/2026;TOTAL DES DEBITS;60,00;\n")
    assert "TOTAL_SUSPECTED" in other.notes


def test_a_balance_that_grows_with_most_amounts_may_be_a_debt(tmp_path: Path) -> None:
    rows = "2026-03-02,ACME,45.20,45.20\n2026-03-05,BRAVO,60.00,105.20\n2026-03-09,CHARLIE,-105.20,0.00\n"
    told = "2026-03-09,Payment thank you,-105.20,0.00\n"

    plain = read_bytes(tmp_path, f"Date,Text,Amount,Balance\n{rows}")
    card = read_bytes(tmp_path, f"Credit card,1234\nDate,Text,Amount,Balance\n{rows}")
    proven = read_bytes(
        tmp_path, f"Credit card,1234\nDate,Text,Amount,Balance\n{rows[: rows.rindex('2026')]}{told}"
    )

    assert plain.notes == card.notes == ["SIGN_UNPROVEN"]
    assert (proven.amounts, proven.notes) == (["-45.20", "-60.00", "105.20"], [])


def test_balances_around_the_rows_of_a_card_are_a_debt_where_words_tell_its_signs(
    tmp_path: Path,
) -> None:
    text = (
        "Previous balance,500.00\nNew balance,475.20\nDate,Description,Amount\n"
        "2026-03-14,Payment thank you,100.00\n2026-03-15,FOO,-45.20\n2026-03-20,BAR,-30.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert (read.amounts, read.notes) == (["100.00", "-45.20", "-30.00"], [])


DAYS = ("02.03.2026", "04.03.2026", "05.03.2026", "09.03.2026", "12.03.2026")


@pytest.mark.parametrize(
    ("others", "is_told"),
    [
        # In order, with days of the other before it: the booking.
        (("01.03.2026", "04.03.2026", "02.03.2026", "09.03.2026", "11.03.2026"), True),
        # All later: value dates, or the bookings of purchases.
        (("03.03.2026", "08.03.2026", "06.03.2026", "09.03.2026", "13.03.2026"), False),
        (("02.03.2026", "04.03.2026", "05.03.2026", "10.03.2026", "13.03.2026"), False),
    ],
)
def test_the_column_of_days_that_is_in_order_is_the_booking(
    tmp_path: Path, others: tuple[str, ...], *, is_told: bool
) -> None:
    amounts = ("-10,00", "-12,50", "800,00", "-9,99", "-3,10")
    pairs = zip(DAYS, others, amounts, strict=True)
    text = "".join(f"{other};{day};SHOP {day[:2]};{amount}\n" for day, other, amount in pairs)

    read = read_bytes(tmp_path, text)

    assert ("DATE_UNPROVEN" in read.notes) != is_told
    if is_told:
        assert [day and f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in read.dates] == [*DAYS]


ABROAD = """Date,Shop,Purchase amount,Currency,Charged amount,Currency
14/01/2026,RAMI,-19.87,ILS,-19.87,ILS
25/02/2026,CAFE PARIS,-9.45,EUR,-33.29,ILS
26/02/2026,CAFE ROMA,-2.45,EUR,-8.29,ILS
"""
SUMMED = """Date,Shop,Currency amount,Currency,Amount
14/01/2026,Card purchase RAMI,-19.87,NOK,-19.87
25/02/2026,Card purchase CAFE,-9.45,EUR,-100.00
,Sum:,,,-119.87
"""


def test_of_two_amounts_the_one_of_one_currency_or_with_a_sum_is_the_account(
    tmp_path: Path,
) -> None:
    abroad = read_bytes(tmp_path, ABROAD)
    summed = read_bytes(tmp_path, SUMMED)
    wrong = read_bytes(tmp_path, SUMMED.replace("-119.87", "-119.80"))

    assert (abroad.amounts, abroad.notes) == (["-19.87", "-33.29", "-8.29"], ["NOT_CHECKED"])
    assert (summed.amounts, summed.notes) == (["-19.87", "-100.00"], ["NOT_CHECKED"])
    assert {row.get("currency", "") for row in summed.canonicals} == {""}
    assert set(wrong.notes) & {"NOT_RECONCILED", "AMOUNT_UNPROVEN"}


def test_balances_under_names_as_programs_write_them_prove_the_rows(tmp_path: Path) -> None:
    text = (
        "openingBalance;100,00\nclosingBalance;80,00\n\nDatum;Objem;Popis\n"
        "13.06.2026;-25,00;Albert\n14.06.2026;5,00;Vklad\n"
    )

    assert read_bytes(tmp_path, text).notes == []
    assert read_bytes(tmp_path, text.replace("-25,00", "-25,90")).notes == ["NOT_RECONCILED"]


def test_a_last_row_that_alone_ends_early_may_be_cut_off(tmp_path: Path) -> None:
    rows = "".join(f"2026-01-{day};-{day},00;SHOP;REF{day}\n" for day in range(10, 16))
    text = f"Bokföringsdag;Belopp;Text;Referens\n{rows}2026-01-16;-66"

    assert "ROW_RAGGED" in read_bytes(tmp_path, text).notes


def test_a_state_of_the_union_is_no_status_and_a_date_as_of_another_is_one(tmp_path: Path) -> None:
    text = (
        'Date,Description,City/State,Amount\n03/25/2026,Salary,"DENVER\nCO",9.00\n'
        '03/26/2026 as of 03/24/2026,Card purchase,"TAMPA\nFL",-5.00\n'
    )

    read = read_bytes(tmp_path, text)

    assert (read.dates, read.notes) == (["2026-03-25", "2026-03-26"], ["NOT_CHECKED"])


def test_rows_without_a_mark_beside_marked_ones_are_doubted(tmp_path: Path) -> None:
    text = (
        "Date,Text,Amount,Dr/Cr\n2026-03-25,a,9.00,CR\n2026-03-26,b,5.00,\n2026-03-27,c,5.00,DR\n"
    )

    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, text).notes


def test_of_payer_and_payee_with_a_word_for_name_the_other_side_is_kept(tmp_path: Path) -> None:
    found = read_bytes(
        tmp_path,
        "Data księgowania;Nazwa nadawcy;Nazwa odbiorcy;Adnotacja;Kwota;Waluta\n"
        "23-03-2026;ANNA NOWAK;TAURON;Prąd zimowy;-211,07;PLN\n"
        "24-03-2026;JAN WÓJCIK;ANNA NOWAK;zrzutka prezent;75,00;PLN\n"
        "25-03-2026;ANNA NOWAK;;Opłata za kartę;-8,00;PLN\n",
    )

    assert [row.get("counterparty") for row in found.canonicals] == ["TAURON", "JAN WÓJCIK", None]
    assert [row["description"] for row in found.canonicals] == [
        "Prąd zimowy",
        "zrzutka prezent",
        "Opłata za kartę",
    ]

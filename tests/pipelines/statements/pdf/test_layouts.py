"""Laws of reading that layouts of banks in many countries taught, each on a page drawn by hand."""

from pathlib import Path

from tests.pipelines.statements.pdf.judging import judged, known, sheet
from tests.pipelines.statements.reading import Read, read_file

Texts = list[tuple[float, str]]


def read(folder: Path, *lines: Texts) -> Read:
    path = folder / "statement.pdf"
    path.write_bytes(sheet(*lines).pdf())
    return read_file(path)


def rows(found: Read) -> list[tuple[str, str]]:
    return [(row["date"], row["amount"]) for row in found.canonicals]


def rows_if_any(found: Read) -> list[tuple[str, str]]:
    return rows(found) if found.normalized is not None else []


def test_a_booking_date_above_its_rows_wins_over_their_value_dates(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        sheet(
            [(40, "Kontoauszug vom 31.07.2026")],
            [
                (40, "Angaben"),
                (300, "Valuta"),
                (-450, "zu Ihren Lasten"),
                (-540, "zu Ihren Gunsten"),
            ],
            [(40, "Alter Kontostand vom 01.07.2026"), (-540, "100,00")],
            [(40, "Buchungsdatum: 02.07.2026")],
            [(40, "Laden"), (300, "04.07"), (-450, "10,00-")],
            [(40, "Mandat 7")],
            [(40, "Buchungsdatum: 06.07.2026")],
            [(40, "Laden"), (300, "06.07"), (-450, "5,00-")],
            [(40, "Gehalt"), (300, "07.07"), (-540, "20,00")],
            [(40, "Neuer Kontostand vom 31.07.2026"), (-540, "105,00")],
        ).pdf(),
        known(
            ("2026-07-02", "-10.00", "Laden Mandat 7"),
            ("2026-07-06", "-5.00", "Laden"),
            ("2026-07-06", "20.00", "Gehalt"),
        ),
    )

    assert (found.is_exact, found.notes) == (True, ())


def test_a_printed_plus_is_never_turned_although_the_debt_adds_up_either_way(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [(40, "Kreditkarte 4917 XXXX XXXX 1234, Mindestbetrag 50,00")],
        [(40, "Alter Saldo"), (-300, "650,00-")],
        [(40, "Neuer Saldo"), (-300, "50,00-")],
        [(40, "Belegdatum"), (120, "Beschreibung"), (-540, "Betrag in EUR")],
        [(40, "07.01.2024"), (120, "Lastschrift"), (-540, "600,00+")],
    )

    assert rows(found) == [("2024-01-07", "600.00")]
    assert found.notes == []


def test_words_turn_the_signs_of_a_card_that_does_not_call_itself_one(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Previous Monthly Balance"), (-300, "$50.00")],
        [(40, "Your July Balance as of Jul 31, 2026"), (-300, "$60.00")],
        [(40, "Date"), (120, "Description"), (-540, "Amount")],
        [(40, "07/06/2026"), (120, "PAYMENT THANK YOU"), (-540, "-$20.00")],
        [(40, "07/15/2026"), (120, "SHOP"), (-540, "$30.00")],
    )

    assert rows(found) == [("2026-07-06", "20.00"), ("2026-07-15", "-30.00")]


def test_a_shop_that_is_called_like_a_subtotal_keeps_its_row(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Date"), (120, "Description"), (-540, "Amount")],
        [(40, "01/13/2026"), (120, "TRANSPORT FOR LONDON"), (-540, "-1.00")],
        [(120, "REPORT MAGAZINE SUBSCRIPTION"), (-540, "-2.00")],
        [(40, "01/14/2026"), (120, "Page total"), (-540, "-3.00")],
        [(40, "01/15/2026"), (120, "BALANCE YOGA STUDIO"), (-540, "-4.00")],
    )

    assert [amount for _, amount in rows(found)] == ["-1.00", "-2.00", "-4.00"]
    assert "ROWS_UNPROVEN" in found.notes


def test_neither_a_purchase_abroad_nor_small_print_names_the_currency(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Date"), (120, "Description"), (-440, "Debit"), (-540, "Balance")],
        [(40, "13/01/2026"), (120, "SHOP"), (-440, "10.00"), (-540, "90.00")],
        [(120, "USD 12.70 @ 1.2713")],
        [(40, "Agreed overdraft of at most 2,500.00 EUR at a rate of interest of 11.25 a year")],
    )

    assert [row.get("currency", "") for row in found.canonicals] == [""]


def test_titles_say_their_direction_by_the_words_of_one_side(tmp_path: Path) -> None:
    heading: Texts = [(40, "Date"), (-160, "Amount"), (200, "Description")]
    found = read(
        tmp_path,
        [(60, "Beginning"), (200, "Ending")],
        [(60, "balance"), (200, "balance")],
        [(60, "100.00"), (200, "85.00")],
        [(40, "Deposits and Other Additions")],
        [(40, "There were 1 transactions totaling $5.00.")],
        heading,
        [(40, "12/13/2025"), (-160, "5.00"), (200, "INTEREST")],
        [(40, "Banking/Debit Card Withdrawals and Purchases")],
        heading,
        [(40, "12/14/2025"), (-160, "12.00"), (200, "SHOP")],
        [(40, "Other Deductions")],
        heading,
        [(40, "12/15/2025"), (-160, "8.00"), (200, "SHOP")],
    )

    assert [amount for _, amount in rows(found)] == ["5.00", "-12.00", "-8.00"]
    assert found.notes == []


def test_dates_without_a_name_are_known_by_what_stands_there(tmp_path: Path) -> None:
    body: list[Texts] = [
        [(40, "13.01.2026"), (110, "15.01.2026"), (200, "SHOP"), (-440, "10,00-"), (-540, "90,00")],
        [(40, "14.01.2026"), (110, "14.01.2026"), (200, "SHOP"), (-440, "10,00-"), (-540, "80,00")],
    ]
    rest: Texts = [(200, "Vorgang"), (-440, "Betrag"), (-540, "Saldo")]

    of_values = read(tmp_path, [(110, "Valuta"), *rest], *body)
    of_bookings = read(tmp_path, [(110, "Buchungstag"), *rest], *body)

    assert [day for day, _ in rows(of_values)] == ["2026-01-13", "2026-01-14"]
    assert of_values.notes == []
    assert of_bookings.notes == [
        "DATE_UNPROVEN"
    ]  # the other one may be a value date or an older one


def test_days_of_four_digits_and_amounts_without_a_name_are_read(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Kontoauszug vom 01.09.2026 bis 30.09.2026")],
        [(40, "Bu-Tag"), (90, "Wert"), (150, "Vorgang")],
        [(150, "Alter Kontostand"), (-540, "100,00 H")],
        [(40, "0609"), (90, "0709"), (150, "Laden"), (-540, "40,00 S")],
        [(40, "1309"), (90, "1309"), (150, "Gehalt"), (-540, "1.000,00 H")],
        [(150, "Neuer Kontostand"), (-540, "1.060,00 H")],
    )

    assert rows(found) == [("2026-09-06", "-40.00"), ("2026-09-13", "1000.00")]
    assert found.notes == []


def test_credits_that_are_marked_make_debits_of_the_rest(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Opening Balance"), (-300, "100.00 Cr")],
        [(40, "Closing Balance"), (-300, "110.00 Cr")],
        [(40, "Date"), (120, "Description"), (-540, "Amount")],
        [(40, "13 Jan 2026"), (120, "SHOP"), (-540, "10.00")],
        [(40, "14 Jan 2026"), (120, "PAY"), (-540, "20.00 Cr")],
    )

    assert [amount for _, amount in rows(found)] == ["-10.00", "20.00"]


def test_balances_of_days_and_labels_without_blanks_are_no_rows(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Data"), (120, "Lançamentos"), (-440, "Valor (R$)"), (-540, "Saldo (R$)")],
        [(40, "13/01/2026"), (120, "SALDOANTERIOR"), (-540, "100,00")],
        [(40, "13/01/2026"), (120, "Pix enviado"), (-440, "-10,00")],
        [(40, "13/01/2026"), (120, "SALDO TOTAL DISPONÍVEL DIA"), (-540, "90,00")],
        [(40, "14/01/2026"), (120, "Salário"), (-440, "5,00")],
        [(40, "14/01/2026"), (120, "SALDO TOTAL DISPONÍVEL DIA"), (-540, "95,00")],
    )

    assert rows(found) == [("2026-01-13", "-10.00"), ("2026-01-14", "5.00")]
    assert found.notes == []


def test_names_of_narrow_columns_are_told_apart(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            (40, "Date"),
            (88, "Narration"),
            (313, "Value Dt"),
            (350, "Withdrawal Amt."),
            (430, "Deposit Amt.Closing Balance"),
        ],
        [(40, "01/09/26"), (88, "SHOP"), (313, "01/09/26"), (-415, "10.00"), (-548, "90.00")],
        [(40, "13/09/26"), (88, "PAY"), (313, "13/09/26"), (-483, "20.00"), (-548, "110.00")],
    )

    assert [amount for _, amount in rows(found)] == ["-10.00", "20.00"]
    assert found.notes == []


def test_an_account_below_a_title_of_all_accounts_is_read(tmp_path: Path) -> None:
    heading: Texts = [(40, "Date"), (120, "Details"), (-380, "Deposit"), (-460, "Withdrawal")]
    found = read(
        tmp_path,
        [(40, "Statement date 30 June 2025, amounts in HKD")],
        [(40, "Portfolio Summary")],
        [(40, "HKD Savings Account number 5021228423")],
        [*heading, (-540, "Balance")],
        [(40, "1 Jun"), (120, "B/F BALANCE"), (-540, "100.00")],
        [(40, "2 Jun"), (120, "SHOP"), (-460, "10.00"), (-540, "90.00")],
        [(40, "30 Jun"), (120, "C/F BALANCE"), (-540, "90.00")],
        [(40, "HKD Current Account number 7188158887")],
        [*heading, (-540, "Balance")],
        [(40, "1 Jun"), (120, "B/F BALANCE"), (-540, "50.00")],
        [(40, "3 Jun"), (120, "SALARY"), (-380, "20.00"), (-540, "70.00")],
        [(40, "30 Jun"), (120, "C/F BALANCE"), (-540, "70.00")],
    )

    assert rows(found) == [("2025-06-02", "-10.00"), ("2025-06-03", "20.00")]


def test_without_balances_only_what_is_accounted_for_is_quiet(tmp_path: Path) -> None:
    heading: Texts = [(40, "Date"), (120, "Description"), (-440, "Debit"), (-540, "Credit")]
    body: list[Texts] = [
        [(40, "13 Jan 2026"), (120, "SHOP"), (-440, "10.00")],
        [(40, "14 Jan 2026"), (120, "PAY"), (-540, "20.00")],
    ]

    quiet = read(tmp_path, heading, *body)
    left = read(tmp_path, heading, *body, [(60, "elsewhere")], [(60, "0007"), (-440, "3.00")])
    unsigned = read(
        tmp_path,
        [(40, "Date"), (120, "Description"), (-440, "Amount")],
        [(40, "13 Jan 2026"), (120, "SHOP OF THE CORNER, LONDON"), (-440, "10.00")],
    )

    assert quiet.notes == ["NOT_CHECKED"]
    assert left.notes == ["ROW_UNREAD", "ROWS_UNPROVEN"]
    assert unsigned.notes == ["SIGN_UNPROVEN", "ROWS_UNPROVEN"]


def test_a_number_before_the_date_does_not_take_it_away(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(73, "Date"), (139, "Communication"), (-540, "Montant")],
        [(73, "06-04-2024"), (139, "PRESSE"), (-540, "- 84,55")],
        [(42, "0002"), (73, "18-04-2024"), (139, "CHEQUE"), (-540, "- 95,29")],
    )

    assert [day for day, _ in rows(found)] == ["2024-04-06", "2024-04-18"]


def test_a_sign_behind_the_name_of_a_column_is_no_column(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Date"), (120, "Description"), (335, "Payments out"), (421, "Deposit"), (455, "(+)")],
        [(40, "03/01/2026"), (120, "SHOP"), (-386, "10.00")],
        [(40, "14/01/2026"), (120, "PAY"), (-467, "20.00")],
    )

    assert rows(found) == [("2026-01-03", "-10.00"), ("2026-01-14", "20.00")]


def test_a_dated_total_is_no_row(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Date"), (120, "Description"), (-380, "Debit"), (-460, "Credit"), (-540, "Balance")],
        [(40, "26/06/2026"), (120, "Opening balance"), (-540, "100.00")],
        [(40, "27/06/2026"), (120, "PAY"), (-460, "20.00"), (-540, "120.00")],
        [(40, "26/07/2026"), (120, "Closing totals"), (-380, "0.00"), (-460, "20.00")],
    )

    assert rows(found) == [("2026-06-27", "20.00")]
    assert found.notes == []


def test_a_table_of_which_nothing_is_read_is_flagged_although_its_balances_agree(
    tmp_path: Path,
) -> None:
    heading: Texts = [(42, "S No."), (73, "Value Date"), (134, "Posted"), (195, "Cheque")]

    def row(number: int, day: str, text: str, amount: str) -> Texts:
        dates: Texts = [(73, f"{day}/01/2025"), (134, f"{day}/01/2025"), (195, "-")]
        return [(42, str(number)), *dates, (241, text), (-427, amount), (-488, "0.00")]

    found = read(
        tmp_path,
        [(42, "Transaction Period : From 01/01/2025 To 31/01/2025")],
        [*heading, (241, "Transaction Remarks"), (381, "Withdrawal"), (459, "Credits")],
        [(195, "Number"), (369, "Amount (INR )")],
        row(1, "01", "SHOP", "2,465.70"),
        row(2, "02", "SHOP OF THE CORNER", "2,034.10"),
        row(3, "04", "BALANCE YOGA STUDIO", "1,750.10"),
        row(4, "09", "BALANCE YOGA STUDIO", "469.30"),
    )

    is_right = [amount for _, amount in rows_if_any(found)][:1] == ["-2465.70"]
    assert is_right or "TABLE_UNREAD" in found.notes

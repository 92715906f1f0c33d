"""Days and balances on lines of their own, titles between rows, and summaries in boxes."""

from pathlib import Path

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from stateward.definition.plugin import Content
from stateward.pipelines.statements.detection import CONFIDENCES, detect
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def read(folder: Path, lines: list[Line]) -> Read:
    paper = Paper(A4)
    paper.page()
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 11, texts)
    return read_bytes(folder, paper.pdf())


def test_a_line_that_names_the_day_of_booking_goes_before_the_days_in_the_rows(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(40, "TILIOTE 2/2026"), (300, "Kausi 01.02.2026 - 28.02.2026")],
            [(40, "ARKISTOINTITUNNUS"), (170, "MAKSUPVM"), (230, "SAAJA"), (-555, "MÄÄRÄ")],
            [(230, "ALKUSALDO 01.02.2026"), (-555, "1.120,66+")],
            [(40, "KIRJAUSPÄIVÄ 02.02.26")],
            [(40, "4055 0118"), (170, "31.01."), (230, "K-KAUPPA"), (-555, "57,83-")],
            [(230, "SALDO"), (-440, "1.062,83+")],
            [(40, "KIRJAUSPÄIVÄ 06.02.26")],
            [(40, "4055 0266"), (170, "04.02."), (230, "ABC KARJAA"), (-555, "71,05-")],
            [(230, "SALDO"), (-440, "991,78+")],
            [(230, "LOPPUSALDO 28.02.2026"), (-555, "991,78+")],
        ],
    )

    assert found.dates == ["2026-02-02", "2026-02-06"]
    assert [row["value_date"] for row in found.canonicals] == ["2026-01-31", "2026-02-04"]
    assert [row["description"] for row in found.canonicals] == ["K-KAUPPA", "ABC KARJAA"]
    assert [row["balance"] for row in found.canonicals] == ["1062.83", "991.78"]
    assert found.flags == []


def test_balances_of_days_below_a_title_within_a_table_are_no_rows(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "STATEMENT PERIOD 12-18-25 THRU 01-20-26")],
            [(60, "BALANCE LAST STATEMENT"), (-380, "3,000.00")],
            [(60, "BALANCE THIS STATEMENT"), (-380, "2,800.00")],
            [(40, "- - - OTHER WITHDRAWALS/DEBITS - - -")],
            [(40, "DATE"), (-180, "AMOUNT"), (200, "DESCRIPTION")],
            [(40, "12-22"), (-180, "150.00"), (200, "ENERGY WEB PMT")],
            [(40, "01-05"), (-180, "50.00"), (200, "WATER AUTOPAY")],
            [(40, "- - - DAILY BALANCE - - -")],
            [(40, "12-22"), (-180, "2,850.00"), (220, "01-05"), (-380, "2,800.00")],
        ],
    )

    assert found.amounts == ["-150.00", "-50.00"]
    assert found.flags == []


def test_rows_below_a_title_of_what_is_pending_count_only_if_a_sum_wants_them(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(40, "Activity 11/01/2025 - 11/13/2025")],
            [(40, "Date"), (130, "Description"), (-450, "Amount")],
            [(40, "Pending")],
            [(40, "11/13/2025"), (130, "FUEL STATION"), (-450, "-125.00")],
            [(40, "Posted transactions")],
            [(40, "11/10/2025"), (130, "SALARY OF NOVEMBER"), (-450, "2,244.09")],
            [(40, "11/07/2025"), (130, "ELECTRIC BILL"), (-450, "-163.48")],
        ],
    )

    assert found.amounts == ["2244.09", "-163.48"]
    assert "ROWS_UNPROVEN" in found.flags


def test_a_total_above_a_table_is_not_its_title(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "May 1, 2026 - May 31, 2026")],
            [(200, "OPENING BALANCE"), (320, "CLOSING BALANCE")],
            [(40, "Cash account"), (-280, "$1,284.50"), (-400, "$667.90")],
            [(40, "Total Priced Portfolio"), (-280, "18,422.70"), (-400, "19,007.12")],
            [(40, "DATE"), (130, "DESCRIPTION"), (-450, "DEBIT"), (-550, "CREDIT")],
            [(40, "05/06/26"), (130, "BOUGHT EQUITY ETF"), (-450, "$1,116.60")],
            [(40, "05/11/26"), (130, "ACH DEPOSIT"), (-550, "$500.00")],
        ],
    )

    assert found.amounts == ["-1116.60", "500.00"]
    assert found.flags == []


def test_figures_below_labels_are_a_summary_and_amounts_abroad_no_currency(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "Fatura do Cartão de Crédito")],
            [(40, "Vencimento"), (200, "Limite total"), (360, "Total da fatura")],
            [(40, "12/02/2026"), (200, "R$ 9.000,00"), (360, "R$ 322,05")],
            [(40, "Saldo da fatura anterior"), (-450, "R$ 100,00")],
            [(40, "Saldo desta fatura"), (-450, "R$ 322,05")],
            [(40, "Data"), (95, "Descrição"), (350, "Moeda estrangeira"), (-555, "Valor (R$)")],
            [(40, "10/jan"), (95, "Pagamento recebido"), (-555, "-100,00")],
            [(40, "12/jan"), (95, "POSTO"), (-555, "210,00")],
            [(40, "15/jan"), (95, "STEAM"), (350, "US$ 20,19 cotação 5,55"), (-555, "112,05")],
        ],
    )

    assert {row.get("currency", "") for row in found.canonicals} <= {"", "BRL"}
    assert found.amounts == ["100.00", "-210.00", "-112.05"]
    assert found.flags == []


def test_the_balance_of_the_first_day_may_have_the_name_of_that_of_the_last(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "Kontoutskrift I perioden 01.01.2023 - 31.01.2023 Valuta NOK")],
            [(40, "Forklaring"), (-380, "Ut av konto"), (-470, "Inn på konto"), (500, "Bokført")],
            [(40, "Saldo i Deres favør 01.01.2023"), (-470, "16.704,30")],
            [(40, "Ruter App"), (-380, "11.644,70"), (500, "03.01.2023")],
            [(40, "Lønn ACME AS"), (-470, "25.893,90"), (500, "19.01.2023")],
            [(40, "Saldo i Deres favør 31.01.2023"), (-470, "30.953,50")],
        ],
    )

    assert found.amounts == ["-11644.70", "25893.90"]
    assert found.checks[0]["status"] == "reconciled"
    assert found.flags == []


def test_a_last_row_that_begins_like_a_total_counts_if_its_balance_follows(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "From 1 February 2024 to 29 February 2024")],
            [
                (40, "Date"),
                (110, "Text"),
                (-380, "Withdrawals"),
                (-470, "Deposits"),
                (-550, "Balance"),
            ],
            [(110, "Opening balance"), (-550, "1,000.00")],
            [(40, "14 Feb"), (110, "INTEREST"), (-470, "30.00"), (-550, "1,030.00")],
            [(40, "29 Feb"), (110, "PAYROLL"), (-470, "500.00"), (-550, "1,530.00")],
            [(110, "TOTAL WINE & MORE"), (-380, "80.00"), (-550, "1,450.00")],
        ],
    )

    assert found.amounts == ["30.00", "500.00", "-80.00"]
    assert found.flags == []


def test_a_statement_of_a_month_with_one_row_is_a_statement(tmp_path: Path) -> None:
    paper = Paper(A4)
    paper.page()
    write(paper, 60, [(40, "EXTRACTO DE AGOSTO 2024")])
    write(paper, 80, [(40, "Periodo del 27/07/2024 al 26/08/2024")])
    write(paper, 100, [(40, "F. OPER."), (130, "CONCEPTO"), (-500, "IMPORTE")])
    write(paper, 120, [(40, "08/08"), (130, "Nomina ACME S.A."), (-500, "4.113,03")])
    path = tmp_path / "agosto.pdf"
    path.write_bytes(paper.pdf())

    found = detect(Content(path=path, head=path.read_bytes()[:4096], name=path.name))

    assert found.confidence == CONFIDENCES["pdf"]


def test_balances_above_and_below_rows_that_cannot_be_read_prove_nothing(tmp_path: Path) -> None:
    rows: list[Line] = [
        [(90, "0107 0207"), (-330, f"{10 + day},40"), (430, "Rema 1000")] for day in range(6)
    ]
    found = read(
        tmp_path,
        [
            [(40, "Kontoutskrift I perioden 01.07.2023 - 31.07.2023 Valuta NOK")],
            [(80, "Bokført Rentedato"), (-330, "Ut av konto"), (-420, "Inn på konto")],
            [(-420, "23.457,80"), (430, "Saldo i Deres favør 01.07.2023")],
            *rows,
            [(-420, "23.382,40"), (430, "Saldo i Deres favør 31.07.2023")],
        ],
    )

    assert found.flags != [] or len(found.amounts) == len(rows)


def test_a_line_of_a_row_and_a_day_with_its_label_are_no_heading(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "TILIOTE"), (300, "Kausi 01.02.2026 - 28.02.2026")],
            [(40, "Nro"), (75, "Arkistointitunnus"), (190, "Tapahtuman selitys"), (430, "Arvopv"), (-555, "Määrä EUR")],
            [(190, "SALDO 31.01.26"), (-555, "500,00+")],
            [(75, "KIRJAUSPÄIVÄ 02.02.26")],
            [(40, "1"), (75, "260202258861706749"), (190, "AUTOM. NOSTO"), (430, "02.02."), (-555, "20,00-")],
            [(190, "OTTO. KAMPPI 3041")],
            [(190, "KORTTI 4920 **** 1187")],
            [(75, "KIRJAUSPÄIVÄ 06.02.26")],
            [(40, "2"), (75, "260206258828034063"), (190, "PANO"), (430, "06.02."), (-555, "100,00+")],
            [(190, "LAHTINEN SARI")],
            [(190, "SALDO 28.02.26"), (-555, "580,00+")],
        ],
    )  # fmt: skip

    assert found.dates == ["2026-02-02", "2026-02-06"]
    assert found.amounts == ["-20.00", "100.00"]
    assert [row["description"] for row in found.canonicals] == [
        "AUTOM. NOSTO OTTO. KAMPPI 3041 KORTTI 4920 **** 1187",
        "PANO LAHTINEN SARI",
    ]
    assert found.flags == []


def test_a_balance_is_a_label_as_a_whole_and_no_shop_of_that_name(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "Estratto conto 01.02.2026 - 28.02.2026")],
            [(40, "Data"), (120, "Descrizione"), (-450, "Importo")],
            [(120, "Saldo 31.01.2026"), (-450, "100,00")],
            [(40, "02.02.2026"), (120, "POS PANIFICIO"), (-450, "-20,00")],
            [(120, "Saldo Calzature Roma 02.02.2026"), (-450, "-30,00")],
            [(120, "Saldo 28.02.2026"), (-450, "50,00")],
        ],
    )

    assert found.amounts == ["-20.00", "-30.00"]
    assert found.flags == []


def test_the_number_of_a_branch_beside_a_day_is_no_day(tmp_path: Path) -> None:
    rows: list[Line] = [
        [(40, "Date"), (120, "Description"), (-400, "Out"), (-470, "In"), (-550, "Balance")],
        [(40, "02 Jan"), (120, "GROCER"), (-400, "10.00"), (-550, "90.00")],
        [(40, "05 Jan"), (120, "SALARY"), (-470, "50.00"), (-550, "140.00")],
    ]
    above: list[list[Line]] = [
        [[(40, "Sort code 07-04-36  Account no 44172081  Statement date: 31 January 2024")]],
        [[(40, "Sort code: 07-04-36   31 January 2024")]],
        [[(40, "Sort code 07-04-36 Statement date 31-01-24")]],
        [[(40, "Sort code 07-04-36")], [(40, "Statement date 31 January 2024")]],
    ]
    for heads in above:
        found = read(tmp_path, [*heads, *rows])

        assert found.dates == ["2024-01-02", "2024-01-05"]
        assert found.flags == []

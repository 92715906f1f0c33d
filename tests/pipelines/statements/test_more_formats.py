"""BAI2, interim reports and notifications, HTML saved as a spreadsheet, scans, photos and mended PDFs.

The documents are written from the specifications of their formats: no bank wrote them.
"""

import io
import sys
import zipfile
from pathlib import Path

import pytest

from lab.documents.contracts.blocks import Lines, Table, pdf
from stateward.definition.plugin import Content
from stateward.pipelines.statements.detection import detect
from stateward.workers.sdk import Completed, Failed
from tests.pipelines.statements.reading import read_bytes, run

BAI2 = """01,BANKID,CLIENT,260131,2200,1,80,,2/
02,CLIENT,BANKID,1,260130,2200,USD,2/
03,0012345,USD,010,100000,,,015,112550,,,100,25000,2,,400,12450,2,/
16,195,20000,V,260131,1200,BR1,CR1,INCOMING WIRE ACME, INC
16,142,5000,S,1000,2000,2000,BR2,,ACH CREDIT
16,475,2450,0,BR3,1001,CHECK PAID
88,NUMBER 1001/
16,455,10000,D,2,0,5000,1,5000,BR4,,ACH DEBIT A/B
49,287450,7/
98,287450,1,9/
99,287450,1,11/
"""


def test_bai2_is_read_and_proven_by_its_balances(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, BAI2)

    assert read.amounts == ["200.00", "50.00", "-24.50", "-100.00"]
    assert set(read.dates) == {"2026-01-30"}
    assert read.notes == []
    first, second, check, debit = read.canonicals
    assert (first["description"], first["value_date"]) == ("INCOMING WIRE ACME, INC", "2026-01-31")
    assert (second["description"], second["reference"]) == ("ACH CREDIT", "BR2")
    assert check["description"] == "CHECK PAID,NUMBER 1001"
    assert debit["description"] == "ACH DEBIT A/B"
    assert (first["account"], first["currency"]) == ("0012345", "USD")


@pytest.mark.parametrize("joined", ["/\n16,", "/\n02,", "/\n03,", "/\n98,"])
def test_bai2_with_two_records_on_a_line_is_read_alike(tmp_path: Path, joined: str) -> None:
    text = BAI2.replace(joined, joined.replace("\n", "   "))
    assert text != BAI2

    read = read_bytes(tmp_path, text)

    assert read.amounts == read_bytes(tmp_path, BAI2).amounts
    assert not read.flags


def test_bai2_that_lost_a_transaction_says_so_three_times(tmp_path: Path) -> None:
    lines = BAI2.splitlines()

    read = read_bytes(tmp_path, "\n".join([*lines[:4], *lines[5:]]))

    assert {"CONTROL_DIFFERS", "NOT_RECONCILED"} <= set(read.notes)


def test_bai2_that_is_cut_off_says_so(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "\n".join(BAI2.splitlines()[:6]))

    assert "FILE_CUT" in read.notes


@pytest.mark.parametrize(("currency", "amount"), [("JPY", "20000"), ("KWD", "20.000")])
def test_bai2_amounts_have_the_decimals_of_their_currency(
    tmp_path: Path, currency: str, amount: str
) -> None:
    text = (
        f"01,B,C,260131,,1,,,2/\n02,C,B,1,260130,,{currency},2/\n03,77,,,,,/\n"
        "16,195,20000,,,,WIRE\n49,20000,3/\n98,20000,1,5/\n99,20000,1,7/\n"
    )

    assert read_bytes(tmp_path, text).amounts == [amount]


def test_hostile_bai2_ends_with_notes_or_a_code(tmp_path: Path) -> None:
    head = "01,B,C,260131,,1,,,2/\n"
    for body, said in (
        ("", "NO_ROWS"),
        ("16,195,1,,,,X\n", "NO_ROWS"),
        (
            "02,C,B,1,,,USD,2/\n03,1,,010,abc,,/\n16,195,x,,,,X\n16,999999,1,D,99999,\n49,1,1/\n",
            "BALANCE_UNREADABLE",
        ),
        ("02,C,B,1,260130,,USD,2/\n03,1/\n88,88,88\n16\n16,195\n49/\n", "ROW_UNREADABLE"),
    ):
        read = read_bytes(tmp_path, head + body)
        is_read = isinstance(read.normalized, Completed)
        assert said in (str(read.notes) if is_read else read.error.code), body


MT942 = """:20:REPORT1
:25:10020030/1234567
:28C:5/1
:34F:EURC0,
:13D:2601301200+0100
:61:260130    C250,00NTRFNONREF//BR9
:86:INTRADAY CREDIT
:61:2601300130DR40,5NMSCREF1
:86:INTRADAY DEBIT
:90D:1EUR40,5
:90C:1EUR250,
-
"""


def test_an_mt942_with_blank_entry_dates_is_read_and_proven_by_its_totals(tmp_path: Path) -> None:
    text = MT942.replace("DR40", "D40")

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["250.00", "-40.50"]
    assert read.dates == ["2026-01-30", "2026-01-30"]
    assert read.notes == []


def camt(kind: str, body: str) -> str:
    names = {"052": ("BkToCstmrAcctRpt", "Rpt"), "054": ("BkToCstmrDbtCdtNtfctn", "Ntfctn")}
    message, group = names[kind]
    return (
        f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.{kind}.001.08"><{message}><{group}>'
        f"<Id>1</Id><Acct><Id><IBAN>DE02100100100006820101</IBAN></Id><Ccy>EUR</Ccy></Acct>{body}"
        f"</{group}></{message}></Document>"
    )


ENTRY = (
    '<Ntry><Amt Ccy="EUR">{0}</Amt><CdtDbtInd>{1}</CdtDbtInd><Sts><Cd>{2}</Cd></Sts>'
    "<BookgDt><Dt>2026-01-30</Dt></BookgDt><AddtlNtryInf>Shop {0}</AddtlNtryInf></Ntry>"
)
INTERIM = (
    '<Bal><Tp><CdOrPrtry><Cd>{0}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{1}</Amt><CdtDbtInd>CRDT</CdtDbtInd>'
    "<Dt><Dt>2026-01-30</Dt></Dt></Bal>"
)


def test_an_interim_report_is_proven_by_its_interim_balances(tmp_path: Path) -> None:
    body = INTERIM.format("OPBD", "100.00") + INTERIM.format("ITBD", "90.00")
    body += ENTRY.format("10.00", "DBIT", "BOOK") + ENTRY.format("5.00", "DBIT", "PDNG")

    read = read_bytes(tmp_path, camt("052", body))

    assert read.amounts == ["-10.00", "-5.00"]
    assert [row.get("is_pending", False) for row in read.canonicals] == [False, True]
    assert read.notes == []


def test_an_interim_balance_of_other_entries_contradicts_nothing(tmp_path: Path) -> None:
    body = INTERIM.format("OPBD", "100.00") + INTERIM.format("ITBD", "55.00")

    read = read_bytes(tmp_path, camt("052", body + ENTRY.format("10.00", "DBIT", "BOOK")))

    assert (read.amounts, read.notes) == (["-10.00"], ["NOT_CHECKED"])


def test_a_notification_has_no_balances_and_says_quietly_that_it_is_not_checked(
    tmp_path: Path,
) -> None:
    summary = "<TxsSummry><TtlCdtNtries><NbOfNtries>1</NbOfNtries><Sum>7.00</Sum></TtlCdtNtries></TxsSummry>"

    plain = read_bytes(tmp_path, camt("054", ENTRY.format("7.00", "CRDT", "BOOK")))
    proven = read_bytes(tmp_path, camt("054", summary + ENTRY.format("7.00", "CRDT", "BOOK")))

    assert (plain.amounts, plain.notes) == (["7.00"], ["NOT_CHECKED"])
    assert (proven.amounts, proven.notes) == (["7.00"], [])


PAGE = (
    "<html><head><title>Konto</title></head><body><table><tr><td>"
    "<table><tr><th>Date</th><th>Description</th><th>Amount</th><th>Balance</th></tr>"
    "<tr><td>2026-01-05</td><td>Shop &amp; Co<br>Berlin</td><td>-1.50</td><td>8.50</td></tr>"
    "<tr><td>2026-01-06</td><td colspan=1>Pay</td><td>2.00</td><td>10.50</td></tr></table>"
    "</td></tr></table></body></html>"
)


def test_a_web_page_saved_as_a_spreadsheet_is_read(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, PAGE)

    assert (read.amounts, read.notes) == (["-1.50", "2.00"], [])
    assert read.canonicals[0]["description"] == "Shop & Co Berlin"
    path = tmp_path / "statement"
    found = detect(Content.of(path, name="export.xls"))
    assert (found.source_type, found.confidence > detect(Content.of(path)).confidence) == (
        "bank_html",
        True,
    )


@pytest.mark.parametrize(
    ("text", "is_likely"),
    [
        ("species,island,length\nAdelie,Biscoe,39.1\n", False),
        ("name,born,score\nAda,1815-12-10,39.1\nMax,1858-04-23,7\n", False),
        ("quand,quoi,ça fait\n2026-01-02,Café,-3.50\n", True),
        ("Date,Amount (EUR)\n", True),
        ("EXPORT;;\nRekening;Transactiedatum;Bedrag\n", True),
        ("Wer;Wann genau;Wie viel\nLaden;3. März;5,00\n", True),
        ("who,when,what\nshop,12/31,$5.10\n", True),
        ("1,39.1\n2,40.2\n", True),
        # Such a cell is not examined: to match 64 KiB of it takes a minute, while an upload waits.
        (f"what,when,how\nshop,2026-01-02,{'.' * 50}1.00\n", False),
    ],
)
def test_a_table_with_headings_and_without_dates_or_amounts_is_hardly_a_statement(
    text: str, *, is_likely: bool, tmp_path: Path
) -> None:
    """Research data says 20 of any table, and is believed where a statement is not likely."""
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")

    found = detect(Content.of(path))

    assert (found.confidence >= 20) == is_likely


def test_a_web_page_without_transactions_is_refused(tmp_path: Path) -> None:
    page = "<html><body><table><tr><td>Hello</td></tr></table></body></html>"
    hostile = "<table>" + "<tr><td colspan=999999999>1" * 2000

    assert read_bytes(tmp_path, page).error.code == "UNKNOWN_FORMAT"
    assert read_bytes(tmp_path, hostile).error.code == "UNKNOWN_FORMAT"


def test_a_document_of_numbers_is_refused_with_what_to_do(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("Index/Document.iwa", b"x")
        archive.writestr("Index/Tables/Tile.iwa", b"x")

    read = read_bytes(tmp_path, made.getvalue())

    assert read.error.code == "UNKNOWN_FORMAT"
    assert "Export To" in read.error.message


def statement_pdf() -> bytes:
    rows = [["Date", "Description", "Amount", "Balance"]]
    balance = 1000
    for day in range(1, 21):
        balance -= day
        rows.append([f"2026-01-{day:02d}", f"Purchase {day}", f"-{day}.00", f"{balance}.00"])
    return pdf([Lines(["Account 12345678, EUR", "Period 2026-01-01 to 2026-01-31"]), Table(rows)])


@pytest.mark.parametrize("damage", ["its end is missing", "it counts pages that are not there"])
def test_a_damaged_pdf_is_mended_on_a_retry_and_flagged(tmp_path: Path, damage: str) -> None:
    pytest.importorskip("pikepdf")
    whole, path = statement_pdf(), tmp_path / "statement.pdf"
    cut = whole[: whole.rindex(b"startxref") - 5]
    path.write_bytes(cut if "end" in damage else whole.replace(b"/Count 1", b"/Count 9"))

    first = run("upload.parse", path)
    again = run("upload.parse", path, retry_count=1)

    assert isinstance(first, Failed)
    assert (first.code, first.is_retryable) == ("PDF_CORRUPT", True)
    assert isinstance(again, Completed), again
    normalized = run("upload.normalize", path, parsed=again)
    assert again.count == 20
    assert "PDF_DAMAGED" in str(normalized.facts["flags"])


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_pdf_of_which_nothing_can_be_saved_stays_corrupt(tmp_path: Path, share: float) -> None:
    whole, path = statement_pdf(), tmp_path / "statement.pdf"
    path.write_bytes(whole[: int(len(whole) * share)])

    again = run("upload.parse", path, retry_count=1)

    assert isinstance(again, Failed)
    assert again.code == "PDF_CORRUPT"


def picture_of(document: bytes, suffix: str = "png") -> bytes:
    """The first page as a scanner at 200 dpi would see it."""
    import pypdfium2 as pdfium

    made = io.BytesIO()
    with pdfium.PdfDocument(document) as opened:
        opened[0].render(scale=200 / 72).to_pil().convert("RGB").save(made, suffix)
    return made.getvalue()


@pytest.mark.long
def test_a_scan_that_adds_up_is_read(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    for suffix in ("png", "pdf"):
        read = read_bytes(tmp_path, picture_of(statement_pdf(), suffix))

        assert len(read.amounts) == 20
        assert read.amounts[-1] == "-20.00"
        assert read.notes == []


@pytest.mark.long
def test_amounts_of_a_scan_that_no_balance_proves_are_flagged(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    rows = [["Date", "Description", "Amount"], ["2026-01-05", "Shop", "-1.00"]]
    rows += [["2026-01-06", "Bakery", "-2.50"], ["2026-01-07", "Salary", "30.00"]]

    read = read_bytes(tmp_path, picture_of(pdf([Table(rows)])))

    assert "OCR_UNPROVEN" in read.notes


def test_a_picture_without_the_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setitem(sys.modules, "stateward.pipelines.kit.ocr", None)
    made = io.BytesIO()
    image.new("RGB", (40, 40), "white").save(made, "png")

    read = read_bytes(tmp_path, made.getvalue())

    assert read.error.code == "NO_TEXT"
    assert "stateward[ocr]" in read.error.message


EXCHANGE = """1CClientBankExchange
ВерсияФормата=1.03
СекцияРасчСчет
ДатаНачала=01.08.2026
ДатаКонца=28.08.2026
РасчСчет=40702810725344286883
НачальныйОстаток=100.00
ВсегоПоступило=50.00
ВсегоСписано=30.00
КонечныйОстаток=120.00
КонецРасчСчет
СекцияДокумент=Платежное поручение
Номер=7
Дата=01.08.2026
Сумма=30.00
ПлательщикСчет=40702810725344286883
ДатаСписано=02.08.2026
ПолучательСчет=40817810139917467393
Получатель=Аптека
НазначениеПлатежа=Счет 5685
КонецДокумента
СекцияДокумент=Платежное поручение
Номер=8
Дата=05.08.2026
Сумма=50.00
ПлательщикСчет=40817810139917467393
Плательщик=Ромашка
ПолучательСчет=40702810725344286883
ДатаПоступило=05.08.2026
НазначениеПлатежа=Возврат
КонецДокумента
КонецФайла
"""


@pytest.mark.parametrize("encoding", ["cp1251", "cp866", "utf-8"])
def test_an_exchange_of_1c_has_what_its_account_paid_and_got(tmp_path: Path, encoding: str) -> None:
    read = read_bytes(tmp_path, EXCHANGE.encode(encoding))

    assert read.amounts == ["-30.00", "50.00"]
    assert read.dates == ["2026-08-02", "2026-08-05"]
    assert [row["counterparty"] for row in read.canonicals] == ["Аптека", "Ромашка"]
    assert {row["currency"] for row in read.canonicals} == {"RUB"}
    assert read.notes == []


@pytest.mark.parametrize(
    ("was", "now", "code"),
    [
        ("КонецФайла\n", "", "FILE_CUT"),
        ("КонечныйОстаток=120.00", "КонечныйОстаток=121.00", "NOT_RECONCILED"),
        ("ДатаПоступило=05.08.2026\n", "", "BOOKING_UNPROVEN"),
        ("ПлательщикСчет=40702810725344286883", "ПлательщикСчет=1", "ROW_UNREADABLE"),
    ],
)
def test_an_exchange_of_1c_that_lacks_something_says_so(
    tmp_path: Path, was: str, now: str, code: str
) -> None:
    read = read_bytes(tmp_path, EXCHANGE.replace(was, now).encode("cp1251"))

    assert code in read.flags

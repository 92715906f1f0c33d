"""OFX, QIF, MT940 and CAMT as banks really write them."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import Read, read_bytes


def ofx(rows: str, *, head: str = "OFXHEADER:100\nDATA:OFXSGML\nCHARSET:1252\n\n") -> str:
    return (
        f"{head}<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>42</BANKACCTFROM>"
        f"<BANKTRANLIST><DTSTART>20260101<DTEND>20260131{rows}</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
    )


def ofx_row(
    amount: str = "-1.00", *, day: str = "20260105", more: str = "<FITID>1<NAME>Shop"
) -> str:
    return f"<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>{day}<TRNAMT>{amount}{more}</STMTTRN>\n"


@pytest.mark.parametrize(
    ("printed", "amount"),
    [("-8.95000", "-8.95"), ("-110.7", "-110.70"), ("-00000000001500.0000", "-1500.00"), ("+115.8331", "115.8331"),
     ("-1,234.56", "-1234.56"), ("7", "7.00")],
)  # fmt: skip
def test_amounts_of_ofx(tmp_path: Path, printed: str, amount: str) -> None:
    assert read_bytes(tmp_path, ofx(ofx_row(printed))).amounts == [amount]


@pytest.mark.parametrize(
    ("kind", "amount", "name", "is_contradicted"),
    [
        ("DEBIT", "300.00", "CHECK 88", True),
        ("CREDIT", "-300.00", "Shop", True),
        ("dep", "-0.50", "Shop", True),
        ("CREDIT", "300.00", "Shop", False),
        ("DEBIT", "0.00", "Shop", False),
        ("DEBIT", "300.00", "Refund Amazon", False),
        ("INT", "-3.00", "Interest", False),
        ("FEE", "3.00", "Fee returned", False),
        ("POS", "3.00", "Shop", False),
    ],
)
def test_a_type_of_ofx_that_contradicts_the_sign_is_told(
    tmp_path: Path, kind: str, amount: str, name: str, is_contradicted: bool
) -> None:
    odd = ofx_row(amount, more=f"<FITID>2<NAME>{name}").replace("DEBIT", kind)

    came = ofx_row("9.00", more="<FITID>3<NAME>Pay").replace("DEBIT", "CREDIT")

    read = read_bytes(tmp_path, ofx(ofx_row() + odd + came))

    assert read.flags == (["SIGN_CONTRADICTED"] if is_contradicted else [])
    assert read.amounts == ["-1.00", amount, "9.00"]


@pytest.mark.parametrize(("first", "is_contradicted"), [("-1.00", False), ("1.00", True)])
def test_one_type_of_ofx_on_rows_of_both_signs_says_nothing(
    tmp_path: Path, first: str, is_contradicted: bool
) -> None:
    read = read_bytes(tmp_path, ofx(ofx_row(first) + ofx_row("2.00", more="<FITID>2<NAME>Shop")))

    assert ("SIGN_CONTRADICTED" in read.flags) is is_contradicted


def test_ofx_with_decimal_commas(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, ofx(ofx_row("-12,50") + ofx_row("3,00")))

    assert read.amounts == ["-12.50", "3.00"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("Tom & Jerry", "Tom & Jerry"),
        ("A &lt; B", "A < B"),
        ("a < b", "a < b"),
        ("&amp;amp; twice", "& twice"),
        ("Caf\u00e9", "Caf\u00e9"),
        ("<![CDATA[Shop <no tag>]]>", "Shop <no tag>"),
    ],
)
def test_texts_of_ofx(tmp_path: Path, name: str, description: str) -> None:
    read = read_bytes(tmp_path, ofx(ofx_row(more=f"<FITID>1<NAME>{name}")))

    assert [row["description"] for row in read.canonicals] == [description]


def test_a_missing_end_tag_costs_no_transaction(tmp_path: Path) -> None:
    rows = ofx_row().replace("</STMTTRN>", "") + ofx_row("-2.00", more="<FITID>2")

    assert read_bytes(tmp_path, ofx(rows)).amounts == ["-1.00", "-2.00"]


def test_the_end_of_the_list_ends_a_transaction_that_was_not_ended(tmp_path: Path) -> None:
    rows = ofx_row() + ofx_row("-2.00").replace("</STMTTRN>", "")

    read = read_bytes(
        tmp_path, ofx(rows).replace("</BANKTRANLIST>", "</BANKTRANLIST></OFX><NAME>Other")
    )

    assert read.amounts == ["-1.00", "-2.00"]
    assert read.canonicals[1]["description"] == "Shop"


def test_a_memo_that_goes_on_where_the_name_was_cut_is_not_said_twice(tmp_path: Path) -> None:
    more = "<FITID>1<NAME>DIVIDEND EARNED FOR PERIOD OF 03<MEMO>DIVIDEND EARNED FOR PERIOD OF 03/01/2026"

    (row,) = read_bytes(tmp_path, ofx(ofx_row(more=more))).canonicals

    assert row["description"] == "DIVIDEND EARNED FOR PERIOD OF 03/01/2026"


def test_a_transaction_of_ofx_without_an_amount_is_a_problem(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, ofx(ofx_row("") + ofx_row("-2.00")))

    assert read.amounts == ["-2.00"]
    assert "ROW_UNREADABLE" in read.notes


def test_ofx_that_ends_in_the_middle_of_a_transaction_is_cut(tmp_path: Path) -> None:
    text = ofx(ofx_row() + ofx_row("-2.00"))

    read = read_bytes(tmp_path, text[: text.rindex("<FITID>")])

    assert read.amounts == ["-1.00", "-2.00"]
    assert "FILE_CUT" in read.notes


def test_several_accounts_of_ofx_are_sections(tmp_path: Path) -> None:
    one = ofx(ofx_row())
    two = one.partition("<OFX>")[2].replace("<ACCTID>42", "<ACCTID>43")

    read = read_bytes(tmp_path, one + two)

    assert [row["account"] for row in read.canonicals] == ["42", "43"]
    assert [row.get("section", 0) for row in read.canonicals] == [0, 1]


def test_the_same_row_of_ofx_twice_is_reported_and_twins_are_not(tmp_path: Path) -> None:
    twins = ofx_row(more="<FITID>1<NAME>Shop") + ofx_row(more="<FITID>2<NAME>Shop")

    read = read_bytes(tmp_path, ofx(twins + ofx_row(more="<FITID>1<NAME>Shop")))

    first, second, again = read.canonicals
    assert "DUPLICATE_ROWS" in read.notes
    assert again["duplicate_of"] == first["id"]
    assert "duplicate_of" not in second
    assert len({first["id"], second["id"], again["id"]}) == 3


def test_a_reused_id_of_the_bank_is_no_duplicate(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, ofx(ofx_row("-1.00") + ofx_row("-2.00")))

    assert "DUPLICATE_ROWS" not in read.notes


def test_purchases_of_securities_are_named_and_not_read(tmp_path: Path) -> None:
    text = ofx(ofx_row()).replace("</BANKTRANLIST>", "<BUYMF><UNITS>5</BUYMF></BANKTRANLIST>")

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-1.00"]
    assert "INVESTMENTS_NOT_READ" in read.notes


@pytest.mark.parametrize(
    "text", ["<OFX><SIGNONMSGSRSV1><SONRS></SONRS></SIGNONMSGSRSV1></OFX>", "<OFX></OFX>"]
)
def test_ofx_without_a_statement_is_refused(tmp_path: Path, text: str) -> None:
    assert read_bytes(tmp_path, text).error.code == "NO_ROWS"


# QIF


@pytest.mark.parametrize(
    ("day", "iso"),
    [("1/23/2026", "2026-01-23"), ("1/23'26", "2026-01-23"), ("1/23' 26", "2026-01-23"), ("23.1.2026", "2026-01-23"),
     ("2026-01-23", "2026-01-23"), ("01/23/26", "2026-01-23")],
)  # fmt: skip
def test_dates_of_qif(tmp_path: Path, day: str, iso: str) -> None:
    read = read_bytes(tmp_path, f"!Type:Bank\nD{day}\nT-1,234.50\nPShop\n^\n")

    assert (read.dates, read.amounts) == ([iso], ["-1234.50"])


def test_qif_with_accounts_splits_and_lists(tmp_path: Path) -> None:
    text = (
        "!Option:AutoSwitch\n!Account\nNChecking\nTBank\n^\n!Type:Bank\nD1/23/2026\nT-30.00\nPShop\nMWeekly\nSFood\n"
        "$-10.00\nSRent\n$-20.00\n^\n!Type:Cat\nNFood\n^\n!Account\nNCard\n^\n!Type:CCard\nD1/24/2026\nT-5.00\nPTaxi\n^\n"
    )

    read = read_bytes(tmp_path, text)

    assert [row["account"] for row in read.canonicals] == ["Checking", "Card"]
    assert read.canonicals[0]["description"] == "Shop Weekly"
    assert read.observations[0]["more"]["splits"] == "Food\n-10.00\nRent\n-20.00"
    assert "the block of type 'cat'" in read.log


def test_qif_whose_last_record_is_not_ended_is_cut(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "!Type:Bank\nD1/23/2026\nT-30.00\n^\nD1/24/2026\nT-5.00\nPTax")

    assert read.amounts == ["-30.00", "-5.00"]
    assert "FILE_CUT" in read.notes


def test_qif_that_cannot_be_decided_is_flagged(tmp_path: Path) -> None:
    assert "AMBIGUOUS_DATES" in read_bytes(tmp_path, "!Type:Bank\nD1/2/2026\nT-30.00\n^\n").notes


def test_qif_without_a_register_is_refused(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, "!Type:Cat\nNFood\n^\n").error.code == "NO_ROWS"


# MT940


def mt940(*lines: str, opening: str = "C260101EUR100,00", closing: str = "C260131EUR99,00") -> str:
    body = "\r\n".join(lines)
    return f":20:REF\r\n:25:NL91ABNA0417164300\r\n:28C:1/1\r\n:60F:{opening}\r\n{body}\r\n:62F:{closing}\r\n-\r\n"


@pytest.mark.parametrize(
    ("line", "amount"),
    [
        (":61:2601050105D1,00NTRFNONREF", "-1.00"),
        (":61:260105C1,NTRF", "1.00"),
        (":61:260105RC1,50NTRFNONREF", "-1.50"),
        (":61:260105RD1,50NTRFNONREF", "1.50"),
        (":61:2601050105DR000000000001,62NTRF0000549855700010//025498557/000001", "-1.62"),
        (":61:260105D620,3NSTON", "-620.30"),
        (":61:260105C500NTRF29-07-2014 10:05//B4G29", "500.00"),
        (":61:260105D000000001213,28N0440121470966      W.P. Jansen", "-1213.28"),
    ],
)
def test_lines_of_mt940(tmp_path: Path, line: str, amount: str) -> None:
    assert read_bytes(tmp_path, mt940(line)).amounts == [amount]


def test_the_entry_date_is_the_booking_date_in_the_nearest_year(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, mt940(":61:2512310102D1,00NTRFNONREF"))

    (row,) = read.canonicals
    assert (row["date"], row["value_date"]) == ("2026-01-02", "2025-12-31")


def test_the_thirtieth_of_february_is_its_last_day_and_noted(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, mt940(":61:2602300301D1,00NTRFNONREF"))

    (row,) = read.canonicals
    assert (row["date"], row["value_date"]) == ("2026-03-01", "2026-02-28")
    assert "260230 does not exist" in row["note"]


def test_two_statements_in_one_file_add_up_each_by_itself(tmp_path: Path) -> None:
    one = mt940(":61:260105D1,00NTRFNONREF")
    two = mt940(":61:260205D9,00NTRFNONREF", opening="C260201EUR99,00", closing="C260228EUR90,00")

    read = read_bytes(tmp_path, one + two)

    assert [check["status"] for check in read.checks] == ["reconciled", "reconciled"]
    assert read.notes == []


@pytest.mark.parametrize(
    ("details", "description", "counterparty"),
    [
        (
            "166?00TEXT?20EREF+E1?21SVWZ+Rent Jan?22uary?32Land Lord?33 Inc",
            "Rent January",
            "Land Lord Inc",
        ),
        (
            "/EREF/E1/BENM//NAME/JOHN DOE/REMI/Reference 1/ISDT/2026-01-02",
            "Reference 1",
            "JOHN DOE",
        ),
        ("BEA NR:XXX 21.05.11\r\nSHOP,PAS999", "BEA NR:XXX 21.05.11 SHOP,PAS999", ""),
        ("000>20 RENT>21 OFFICE", "RENT OFFICE", ""),
    ],
)
def test_what_an_86_says(tmp_path: Path, details: str, description: str, counterparty: str) -> None:
    read = read_bytes(tmp_path, mt940(":61:260105D1,00NTRFNONREF", f":86:{details}"))

    (row,) = read.canonicals
    assert row["description"] == description
    assert row.get("counterparty", "") == counterparty
    assert read.observations[0]["description"] == details.replace("\r\n", "\n")


def test_a_line_of_mt940_that_fits_no_rule_is_a_problem(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, mt940(":61:garbage", ":61:260105D1,00NTRFNONREF"))

    assert read.amounts == ["-1.00"]
    assert "ROW_UNREADABLE" in read.notes


def test_mt940_without_a_closing_balance_is_cut(tmp_path: Path) -> None:
    text = mt940(":61:260105D1,00NTRFNONREF")

    assert "FILE_CUT" in read_bytes(tmp_path, text[: text.index(":62F:")]).notes


def test_a_balance_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, mt940(":61:260105D1,00NTRFNONREF", closing="nonsense"))

    assert "BALANCE_UNREADABLE" in read.notes


def test_totals_of_mt942_are_checked(tmp_path: Path) -> None:
    text = mt940(":61:260105D1,00NTRFNONREF").replace(":62F:", ":90D:2EUR1,00\r\n:62F:")

    assert "NOT_RECONCILED" in read_bytes(tmp_path, text).notes


# CAMT


def camt(
    entries: str, *, kind: str = "053", root: str = "BkToCstmrStmt", group: str = "Stmt"
) -> str:
    space = f'xmlns="urn:iso:std:iso:20022:tech:xsd:camt.{kind}.001.08"'
    return (
        f'<?xml version="1.0"?><Document {space}><{root}><{group}><Acct><Id><IBAN>NL1</IBAN></Id></Acct>'
        f"{entries}</{group}></{root}></Document>"
    )


def entry(amount: str = "1.00", side: str = "DBIT", more: str = "") -> str:
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{side}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>'
        f"<BookgDt><Dt>2026-01-05</Dt></BookgDt><ValDt><Dt>2026-01-06</Dt></ValDt>{more}</Ntry>"
    )


@pytest.mark.parametrize(
    ("kind", "root", "group"),
    [("052", "BkToCstmrAcctRpt", "Rpt"), ("053", "BkToCstmrStmt", "Stmt"), ("054", "BkToCstmrDbtCdtNtfctn", "Ntfctn")],
)  # fmt: skip
def test_the_three_kinds_of_camt(tmp_path: Path, kind: str, root: str, group: str) -> None:
    read = read_bytes(
        tmp_path, camt(entry() + entry("2.5", "CRDT"), kind=kind, root=root, group=group)
    )

    assert read.amounts == ["-1.00", "2.50"]
    assert read.canonicals[0]["value_date"] == "2026-01-06"


def test_a_reversal_goes_the_way_that_its_sign_says(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, camt(entry("5.00", "CRDT", "<RvslInd>true</RvslInd>")))

    assert read.amounts == ["5.00"]


def test_five_decimals_and_details_of_camt(tmp_path: Path) -> None:
    details = (
        "<NtryDtls><TxDtls><Refs><EndToEndId>E1</EndToEndId></Refs><RltdPties><Cdtr><Pty><Nm>Shop</Nm></Pty></Cdtr>"
        "</RltdPties><RmtInf><Ustrd>Invoice 7</Ustrd><Ustrd>thanks</Ustrd></RmtInf></TxDtls></NtryDtls>"
    )

    (row,) = read_bytes(tmp_path, camt(entry("12.34000", "DBIT", details))).canonicals

    assert (row["amount"], row["description"], row["counterparty"]) == (
        "-12.34",
        "Invoice 7 thanks",
        "Shop",
    )


def test_a_batch_entry_is_one_row_with_its_payments(tmp_path: Path) -> None:
    one = '<TxDtls><Amt Ccy="EUR">0.50</Amt><RltdPties><Cdtr><Nm>A</Nm></Cdtr></RltdPties></TxDtls>'

    read = read_bytes(tmp_path, camt(entry("1.00", "DBIT", f"<NtryDtls>{one}{one}</NtryDtls>")))

    assert read.amounts == ["-1.00"]
    assert read.observations[0]["more"]["batch"] == "0.50 A\n0.50 A"


def test_a_pending_entry_is_marked_and_not_added_up(tmp_path: Path) -> None:
    balances = "".join(
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy='EUR'>{amount}</Amt>"
        "<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-01-05</Dt></Dt></Bal>"
        for code, amount in (("OPBD", "10.00"), ("CLBD", "9.00"))
    )
    pending = entry("5.00").replace("<Cd>BOOK</Cd>", "<Cd>PDNG</Cd>")

    read = read_bytes(tmp_path, camt(balances + entry() + pending))

    assert [row.get("is_pending", False) for row in read.canonicals] == [False, True]
    assert read.notes == []


def test_an_entry_without_a_date_or_with_a_garbled_amount_is_reported(tmp_path: Path) -> None:
    dateless = entry().replace(
        "<BookgDt><Dt>2026-01-05</Dt></BookgDt><ValDt><Dt>2026-01-06</Dt></ValDt>", ""
    )

    read = read_bytes(tmp_path, camt(dateless + entry("12..34") + entry("2.00")))

    assert read.amounts == ["-2.00"]
    assert {"ROW_UNREADABLE", "ROW_REJECTED"} <= set(read.notes)


def codes(*texts: str, folder: Path) -> list[str]:
    return [fails(read_bytes(folder, text)) for text in texts]


def fails(read: Read) -> str:
    # A damaged file may be tried again, where the profile says so, and is read more leniently then.
    assert read.error.is_retryable == read.error.code.endswith("_CORRUPT")
    return read.error.code


def test_broken_and_strange_xml_is_refused(tmp_path: Path) -> None:
    whole = camt(entry())
    entity = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><Document><Stmt>&a;</Stmt></Document>'

    assert codes(
        whole[:-30],
        entity,
        entity.encode("utf-16").decode("utf-16"),
        "<Document xmlns='urn:camt.053'><Nothing/></Document>",
        "<html><body>Login</body></html>",
        "<invoice/>",
        folder=tmp_path,
    ) == ["XML_CORRUPT", "XML_ENTITY", "XML_ENTITY", "NO_ROWS", "UNKNOWN_FORMAT", "UNKNOWN_FORMAT"]


INTERIM = (
    ":20:START\n:25:72090900/987\n:28C:0\n:34F:EUR0,\n:13:1604202255\n"
    ":61:160421D0,02NMSCKREF+\n:86:177?00Miete\n:61:160422C5,00NMSCKREF+\n:86:Lohn\n"
)


def test_an_interim_report_is_in_the_currency_of_its_limit(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, INTERIM)

    assert [row["currency"] for row in read.canonicals] == ["EUR", "EUR"]


def test_messages_as_fints_sends_them_are_read_line_by_line(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "@@" + INTERIM.replace("\n", "@@"))

    assert read.amounts == ["-0.02", "5.00"]
    assert read.about["format"] == "mt940"


@pytest.mark.parametrize(
    ("details", "description"),
    [
        ("805?00ABSCHLUSS?109310", "ABSCHLUSS"),
        ("166?00GUTSCHRIFT?20?32MAX MUSTER", "GUTSCHRIFT"),
        ("105?00LASTSCHRIFT?20RECHNUNG 17?32WERKE", "RECHNUNG 17"),
    ],
)
def test_mt940_without_a_purpose_is_described_by_the_kind_of_booking(
    tmp_path: Path, details: str, description: str
) -> None:
    message = (
        ":20:X\n:25:10020030/1234567\n:28C:1/1\n:60F:C250301EUR100,00\n:61:2503010301D45,10NDDTNONREF\n"
        f":86:{details}\n:62F:C250301EUR54,90\n-\n"
    )

    found = read_bytes(tmp_path, message)

    assert [row["description"] for row in found.canonicals] == [description]
    assert found.flags == []

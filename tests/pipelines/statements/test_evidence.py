"""What decides where the text alone does not: places and time zones for dates, known headings for letters."""

from pathlib import Path

from tests.pipelines.statements.reading import read_bytes

ROWS = (
    "Date,Description,Amount\n01/02/2026,SAFEWAY #1234 SEATTLE WA,-1.00\n02/03/2026,SHELL OIL AUSTIN TX 78701,-2.00\n"
    "03/04/2026,TARGET BROOKLYN PARK MN USA,-3.00\n04/05/2026,Deposit,9.00\n"
)


def test_places_in_the_united_states_decide_the_order_of_dates(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, ROWS)

    assert read.dates == ["2026-01-02", "2026-02-03", "2026-03-04", "2026-04-05"]
    assert read.notes == ["NOT_CHECKED"]
    assert "3 of 4 rows end with a place in the United States" in read.log


def test_a_date_of_the_file_goes_before_places(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, ROWS + "25/06/2026,Deposit,1.00\n")

    assert read.dates[0] == "2026-02-01"


def test_too_few_places_decide_nothing(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, ROWS.replace("AUSTIN TX 78701", "PARIS FR").replace(" WA,", " WASH,")
    )

    assert "AMBIGUOUS_DATES" in read.notes


def test_places_are_no_evidence_beside_another_currency(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, ROWS.replace("Amount", "Amount (GBP)"))

    assert "AMBIGUOUS_DATES" in read.notes


def test_time_zones_decide_the_order_of_dates_unless_they_are_of_several_continents(
    tmp_path: Path,
) -> None:
    text = (
        "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net\n"
        "01/02/2026,10:00:00,PST,Shop,Payment,Completed,USD,-1.00,0.00,-1.00\n"
        "02/03/2026,10:00:00,PST,Shop,Payment,Completed,USD,-2.00,0.00,-2.00\n"
        "03/04/2026,10:00:00,PDT,Shop,Payment,Completed,USD,-3.00,0.00,-3.00\n"
    )

    assert read_bytes(tmp_path, text).dates == ["2026-01-02", "2026-02-03", "2026-03-04"]
    mixed = text.replace("PDT", "CET")
    assert "AMBIGUOUS_DATES" in read_bytes(tmp_path, mixed).notes


def test_a_known_heading_proves_the_encoding(tmp_path: Path) -> None:
    headings = "IBAN/BBAN,Munt,BIC,Volgnr,Datum,Rentedatum,Bedrag,Saldo na trn,Naam tegenpartij,Naam initiërende partij"
    row = 'NL44RABO0123456789,EUR,RABONL2U,1,2026-01-05,2026-01-05,"-1,00","+9,00",Bakker,'
    text = f"{headings}\n{row}\n{row.replace('+9,00', '+8,00')}\n"

    assert "ENCODING_UNPROVEN" not in read_bytes(tmp_path, text.encode("cp1252")).notes
    unknown = text.replace("initiërende", "iniziërende").encode("cp1252")  # the others are Dutch
    assert "ENCODING_UNPROVEN" not in read_bytes(tmp_path, unknown).notes


def test_a_hint_that_a_format_does_not_ask_for_is_noted(tmp_path: Path) -> None:
    ofx = "<OFX><STMTRS><STMTTRN><DTPOSTED>20260105<TRNAMT>-1.00<FITID>1</STMTTRN></STMTRS></OFX>"
    labels = {"sign": "flipped", "map": "date=1,amount=2"}

    read = read_bytes(tmp_path, ofx, labels=dict(labels))

    assert "HINT_UNUSED" in read.notes
    assert read.amounts == ["-1.00"]
    assert "HINT_UNUSED" not in read_bytes(tmp_path, ROWS, labels={"sign": "printed"}).notes

"""Synthetic statements in every format but PDF: one story, told as each kind of bank would write it.

A `Story` is the truth; a writer makes bytes of it. The same story gives the same bytes.
"""

import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from io import BytesIO
from xml.sax.saxutils import escape

import msgspec

SHOPS = (
    "GROCER 0042 MAIN ST", "COFFEE, TEA & CO", "RENT", "SALARY ACME LTD", "TRANSFER TO SAVINGS", "Müller Bäckerei",
    "Bahn Fahrkarte", "PHARMACY 17", "CINEMA PALACE", "BOOKS <3 READERS", "CAFÉ ZOË", "INSURANCE CO. 12/2026",
    'HARDWARE "BOLT"', "INTEREST",
)  # fmt: skip
ZIP_DAY = (2026, 1, 1, 0, 0, 0)


class Move(msgspec.Struct, frozen=True):
    """One transaction: the day, the signed amount, the text."""

    day: date
    amount: Decimal
    text: str


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What happened on one account in one period."""

    account: str
    currency: str
    opening: Decimal
    moves: tuple[Move, ...]
    start: date
    end: date

    @property
    def closing(self) -> Decimal:
        """Opening and all that came and went."""
        return self.opening + sum((move.amount for move in self.moves), Decimal(0))

    def balances(self) -> Iterator[tuple[Move, Decimal]]:
        """Each move with the balance after it."""
        balance = self.opening
        for move in self.moves:
            balance += move.amount
            yield move, balance


def story(
    seed: int,
    *,
    moves: int = 12,
    account: str = "DE89370400440532013000",
    currency: str = "EUR",
    start: date = date(2026, 1, 1),
) -> Story:
    """A story drawn from a seed: moves in order of days over a month, with a pair of twins."""
    rng = random.Random(seed)
    days = sorted(rng.randrange(31) for _ in range(moves))
    told = [
        Move(
            start + timedelta(days=day),
            Decimal(rng.randrange(-250_000, 200_000)) / 100,
            rng.choice(SHOPS),
        )
        for day in days
    ]
    told = [Move(each.day, each.amount or Decimal("0.01"), each.text) for each in told]
    if len(told) > 2:
        told[1] = told[0]  # twins of one day are two transactions
    return Story(
        account=account,
        currency=currency,
        opening=Decimal(rng.randrange(0, 500_000)) / 100,
        moves=tuple(told),
        start=start,
        end=start + timedelta(days=30),
    )


# Text


def csv_plain(told: Story) -> bytes:
    """Headings in English, ISO days, a signed amount, a running balance."""
    rows = [["Date", "Description", "Amount", "Currency", "Balance"]]
    rows += [
        [each.day.isoformat(), each.text, f"{each.amount:.2f}", told.currency, f"{after:.2f}"]
        for each, after in told.balances()
    ]
    return _table(rows, ",").encode()


def csv_german(told: Story) -> bytes:
    """Semicolons, decimal commas, Western Windows, facts above the rows."""
    rows = [
        ["Kontonummer:", told.account],
        ["Zeitraum:", f"{told.start:%d.%m.%Y} - {told.end:%d.%m.%Y}"],
        [],
        ["Buchungstag", "Wertstellung", "Verwendungszweck", "Betrag (EUR)", "Saldo"],
    ]
    rows += [
        [
            f"{m.day:%d.%m.%Y}",
            f"{m.day:%d.%m.%Y}",
            m.text,
            _comma(m.amount, "."),
            _comma(after, "."),
        ]
        for m, after in told.balances()
    ]
    return _table(rows, ";").encode("cp1252")


def csv_french(told: Story) -> bytes:
    """Debit and credit in two columns, blanks between thousands, balances around the rows, UTF-8 with its mark."""
    rows = [
        ["Solde initial", _comma(told.opening, " ")],
        ["Date opération", "Libellé", "Débit", "Crédit"],
    ]
    for each in told.moves:
        out, come = (
            ("", _comma(each.amount, " ")) if each.amount > 0 else (_comma(-each.amount, " "), "")
        )
        rows.append([f"{each.day:%d/%m/%Y}", each.text, out, come])
    rows.append(["Solde final", _comma(told.closing, " ")])
    return b"\xef\xbb\xbf" + _table(rows, ";").encode()


def csv_indian(told: Story) -> bytes:
    """Lakhs, CR and DR, days before months with names, newest first."""
    rows = [["Txn Date", "Narration", "Amount", "Dr/Cr", "Balance"]]
    rows += [
        [
            f"{m.day:%d-%b-%Y}",
            m.text,
            _lakh(abs(m.amount)),
            "CR" if m.amount > 0 else "DR",
            _signed_lakh(after),
        ]
        for m, after in reversed(list(told.balances()))
    ]
    return _table(rows, ",").encode()


def tsv_swiss(told: Story) -> bytes:
    """Tabs, UTF-16, apostrophes between thousands."""
    rows = [["Datum", "Buchungstext", "Belastung", "Gutschrift", "Saldo"]]
    for each, after in told.balances():
        out, come = ("", _swiss(each.amount)) if each.amount > 0 else (_swiss(-each.amount), "")
        rows.append([f"{each.day:%d.%m.%Y}", each.text, out, come, _swiss(after)])
    return _table(rows, "\t").encode("utf-16")


def _table(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    def cell(text: str) -> str:
        is_plain = not any(c in text for c in f'{delimiter}"\n')
        return text if is_plain else '"' + text.replace('"', '""') + '"'

    return "".join(delimiter.join(map(cell, row)) + "\r\n" for row in rows)


def _comma(value: Decimal, thousands: str) -> str:
    return f"{value:,.2f}".replace(",", "\x00").replace(".", ",").replace("\x00", thousands)


def _swiss(value: Decimal) -> str:
    return f"{value:,.2f}".replace(",", "'")


def _lakh(value: Decimal) -> str:
    whole, _, cents = f"{value:.2f}".partition(".")
    head, tail = whole[:-3], whole[-3:]
    groups = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
    return ",".join([*groups, tail]) + f".{cents}"


def _signed_lakh(value: Decimal) -> str:
    return f"{_lakh(abs(value))}{' DR' if value < 0 else ' CR'}"


# Messages


def ofx_sgml(told: Story) -> bytes:
    """OFX 1: tags without ends, a bare ampersand, the code page of Western Windows."""
    rows = "".join(
        f"<STMTTRN><TRNTYPE>{'CREDIT' if m.amount > 0 else 'DEBIT'}<DTPOSTED>{m.day:%Y%m%d}120000[-5:EST]"
        f"<TRNAMT>{m.amount:.2f}<FITID>{n:06d}<NAME>{m.text.replace('<', '&lt;')[:32]}\r\n</STMTTRN>\r\n"
        for n, m in enumerate(told.moves)
    )
    head = (
        "OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nENCODING:USASCII\r\nCHARSET:1252\r\n\r\n"
    )
    return (
        f"{head}<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><FI><ORG>SAMPLE</FI></SONRS>"
        f"</SIGNONMSGSRSV1><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>{told.currency}<BANKACCTFROM>"
        f"<BANKID>1<ACCTID>{told.account}<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>"
        f"<DTSTART>{told.start:%Y%m%d}<DTEND>{told.end:%Y%m%d}\r\n{rows}</BANKTRANLIST>"
        f"<LEDGERBAL><BALAMT>{told.closing:.2f}<DTASOF>{told.end:%Y%m%d}</LEDGERBAL></STMTRS></STMTTRNRS>"
        "</BANKMSGSRSV1></OFX>\r\n"
    ).encode("cp1252")


def ofx_xml(told: Story) -> bytes:
    """OFX 2: XML, for a card."""
    rows = "".join(
        f"<STMTTRN><TRNTYPE>{'CREDIT' if m.amount > 0 else 'DEBIT'}</TRNTYPE><DTPOSTED>{m.day:%Y%m%d}</DTPOSTED>"
        f"<TRNAMT>{m.amount:.2f}</TRNAMT><FITID>C{n:06d}</FITID><NAME>{escape(m.text)}</NAME></STMTTRN>\n"
        for n, m in enumerate(told.moves)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE"?>\n'
        f"<OFX><CREDITCARDMSGSRSV1><CCSTMTTRNRS><CCSTMTRS><CURDEF>{told.currency}</CURDEF><CCACCTFROM>"
        f"<ACCTID>{told.account}</ACCTID></CCACCTFROM><BANKTRANLIST><DTSTART>{told.start:%Y%m%d}</DTSTART>"
        f"<DTEND>{told.end:%Y%m%d}</DTEND>\n{rows}</BANKTRANLIST><LEDGERBAL><BALAMT>{told.closing:.2f}</BALAMT>"
        f"<DTASOF>{told.end:%Y%m%d}</DTASOF></LEDGERBAL></CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1></OFX>\n"
    ).encode()


def qif(told: Story) -> bytes:
    """QIF with an account, an opening balance, and days as Quicken writes them."""
    rows = "".join(
        f"D{m.day.month}/{m.day.day:>2}'{m.day:%y}\nT{m.amount:,.2f}\nP{m.text}\n^\n"
        for m in told.moves
    )
    start = told.start
    return (
        f"!Account\nN{told.account}\nTBank\n^\n!Type:Bank\nD{start.month}/{start.day:>2}'{start:%y}\n"
        f"T{told.opening:,.2f}\nPOpening Balance\nL[{told.account}]\n^\n{rows}"
    ).encode()


def mt940(told: Story) -> bytes:
    """MT940, in two statements: each adds up by itself."""
    middle = len(told.moves) // 2
    parts = [told.moves[:middle], told.moves[middle:]]
    balance, text = told.opening, ""
    for number, moves in enumerate(parts, start=1):
        first = moves[0].day if moves else told.start
        last = moves[-1].day if moves else told.end
        text += f":20:SAMPLE{number}\r\n:25:{told.account}\r\n:28C:1/{number}\r\n"
        text += f":60{'F' if number == 1 else 'M'}:{_swift(balance, first, told.currency)}\r\n"
        for move in moves:
            sign = "C" if move.amount > 0 else "D"
            amount = f"{abs(move.amount):.2f}".replace(".", ",")
            text += f":61:{move.day:%y%m%d}{move.day:%m%d}{sign}{amount}NTRFNONREF\r\n"
            text += f":86:166?00BOOKING?20SVWZ+{move.text}?32SOMEBODY\r\n"
            balance += move.amount
        text += f":62{'F' if number == 2 else 'M'}:{_swift(balance, last, told.currency)}\r\n-\r\n"
    return text.encode()


def _swift(value: Decimal, day: date, currency: str) -> str:
    amount = f"{abs(value):.2f}".replace(".", ",")
    return f"{'D' if value < 0 else 'C'}{day:%y%m%d}{currency}{amount}"


def camt053(told: Story) -> bytes:
    """CAMT.053 of version 2, with balances and a summary."""
    entries = "".join(
        f'<Ntry><Amt Ccy="{told.currency}">{abs(m.amount):.5f}</Amt>{_side(m.amount)}<Sts>BOOK</Sts>'
        f"<BookgDt><Dt>{m.day}</Dt></BookgDt><ValDt><Dt>{m.day}</Dt></ValDt><AcctSvcrRef>R{n}</AcctSvcrRef>"
        f"<NtryDtls><TxDtls><RmtInf><Ustrd>{escape(m.text)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>\n"
        for n, m in enumerate(told.moves)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt><Id>1</Id>'
        f"<FrToDt><FrDtTm>{told.start}T00:00:00</FrDtTm><ToDtTm>{told.end}T23:59:59</ToDtTm></FrToDt>"
        f"<Acct><Id><IBAN>{told.account}</IBAN></Id><Ccy>{told.currency}</Ccy></Acct>\n"
        f"{_camt_balance('OPBD', told.opening, told.start, told.currency)}"
        f"{_camt_balance('CLBD', told.closing, told.end, told.currency)}"
        f"<TxsSummry><TtlNtries><NbOfNtries>{len(told.moves)}</NbOfNtries></TtlNtries></TxsSummry>\n"
        f"{entries}</Stmt></BkToCstmrStmt></Document>\n"
    ).encode()


def _camt_balance(code: str, value: Decimal, day: date, currency: str) -> str:
    return (
        f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="{currency}">{abs(value):.2f}</Amt>'
        f"{_side(value)}<Dt><Dt>{day}</Dt></Dt></Bal>\n"
    )


def _side(value: Decimal) -> str:
    return f"<CdtDbtInd>{'DBIT' if value < 0 else 'CRDT'}</CdtDbtInd>"


# Sheets


def xlsx(told: Story) -> bytes:
    """A workbook written by hand: a sheet of words, and one of transactions with real numbers and days."""
    rows: list[list[object]] = [
        ["Statement of", told.account],
        ["Opening balance", told.opening],
        [],
    ]
    rows.append(["Posting Date", "Description", "Amount", "Balance"])
    rows += [[each.day, each.text, each.amount, after] for each, after in told.balances()]
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELS,
        "xl/workbook.xml": _WORKBOOK,
        "xl/_rels/workbook.xml.rels": _WORKBOOK_RELS,
        "xl/styles.xml": _STYLES,
        "xl/worksheets/sheet1.xml": _sheet([["This workbook holds a statement."]]),
        "xl/worksheets/sheet2.xml": _sheet(rows),
    }
    return zipped(parts)


def zipped(parts: dict[str, str]) -> bytes:
    """A zip with these files, the same bytes each time."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, ZIP_DAY), text, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _sheet(rows: Sequence[Sequence[object]]) -> str:
    cells = "".join(
        f'<row r="{r}">{"".join(_cell(r, c, value) for c, value in enumerate(row))}</row>'
        for r, row in enumerate(rows, start=1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{cells}</sheetData></worksheet>'


def _cell(row: int, column: int, value: object) -> str:
    place = f'r="{chr(65 + column)}{row}"'
    if isinstance(value, date):
        return f'<c {place} s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, Decimal):
        return f"<c {place}><v>{float(value)!r}</v></c>"
    return f'<c {place} t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet2.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_SHEET_TYPE}.styles+xml"/></Types>'
)
_RELS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>'
)
_WORKBOOK = (
    f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="About" sheetId="1" r:id="rId1"/>'
    '<sheet name="January" sheetId="2" r:id="rId2"/></sheets></workbook>'
)
_WORKBOOK_RELS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/worksheet" Target="worksheets/sheet2.xml"/>'
    f'<Relationship Id="rId3" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
)
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="2"><xf/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
)

WRITERS: dict[str, Callable[[Story], bytes]] = {
    "csv_plain": csv_plain,
    "csv_german": csv_german,
    "csv_french": csv_french,
    "csv_indian": csv_indian,
    "tsv_swiss": tsv_swiss,
    "ofx_sgml": ofx_sgml,
    "ofx_xml": ofx_xml,
    "qif": qif,
    "mt940": mt940,
    "camt053": camt053,
    "xlsx": xlsx,
}

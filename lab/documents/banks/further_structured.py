"""Files in formats with a grammar of their own, with the habits of the banks that write them."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from xml.sax.saxutils import escape

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import comma, further, point
from lab.documents.banks.table import Message


def _closing(opening: Decimal, entries: list[Entry]) -> Decimal:
    return entries[-1].balance if entries else opening


def _last(entries: list[Entry]) -> str:
    return f"{entries[-1].day:%y%m%d}" if entries else "260930"


def _balance(tag: str, day: str, amount: Decimal, currency: str) -> str:
    return f":{tag}:{'D' if amount < 0 else 'C'}{day}{currency}{comma(abs(amount))}"


@further("commerzbank-mt940", "DE", "EUR", "de", is_structured=True)
def commerzbank(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    lines = [":20:STARTUMS", ":25:50040000/0123456789", ":28C:1/1", _balance("60F", "260101", opening, "EUR")]  # fmt: skip
    for e in entries:
        lines.append(f":61:{e.day:%y%m%d}{e.day:%m%d}{'DR' if e.amount < 0 else 'CR'}{comma(abs(e.amount))}NMSCNONREF")  # fmt: skip
        lines.append(f":86:{'105' if e.amount < 0 else '166'}?00FOLGELASTSCHRIFT?109251?20EREF+12345?21MREF+M-77?22SVWZ+Rechnung")  # fmt: skip
        lines.append(f"?23{e.text[:27]}?30COBADEFFXXX?31DE02500105170137075030?32{e.text[:20]}")
    lines += [_balance("62F", _last(entries), _closing(opening, entries), "EUR"), "-"]
    return Message("\r\n".join(lines) + "\r\n", ".sta", "latin-1")


@further("ing-mt940", "NL", "EUR", "nl", is_structured=True)
def ing_mt940(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    lines = ["{1:F01INGBNL2ABXXX0000000000}", "{2:I940INGBNL2AXXXN}", "{4:", ":20:P260930000000001", ":25:NL69INGB0123456789EUR", ":28C:00000",
             _balance("60F", "260101", opening, "EUR")]  # fmt: skip
    for e in entries:
        lines.append(f":61:{e.day:%y%m%d}{e.day:%m%d}{'D' if e.amount < 0 else 'C'}{comma(abs(e.amount))}NTRFEREF//00000000001005")  # fmt: skip
        lines += ["/TRCD/00100/", f":86:/EREF/EV12341REP1231456T1234//CNTP/NL32INGB0000012345/INGBNL2A/{e.text}///REMI/USTD//", "Factuur 12//"]  # fmt: skip
    lines += [_balance("62F", _last(entries), _closing(opening, entries), "EUR"), _balance("64", _last(entries), _closing(opening, entries), "EUR"), ":86:/SUM/5/5/1,00/1,00/", "-}"]  # fmt: skip
    return Message("\r\n".join(lines) + "\r\n", ".940", "latin-1")


@further("raiffeisen-hu-mt940", "HU", "HUF", "hu", places=0, is_structured=True)
def hungarian_mt940(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    lines = [":20:260930", ":25:HU12345678", ":28C:9/1", f":60F:C260101HUF{opening},"]
    for e in entries:
        mark = "D" if e.amount < 0 else "C"
        lines.append(f":61:{e.day + timedelta(1):%y%m%d}{e.day:%m%d}{mark}F{abs(e.amount)},NTRF{random.randint(10**6, 10**7)}//X")  # fmt: skip
        lines.append(f":86:{e.text}\nKártyás vásárlás")
    lines += [f":62F:C{_last(entries)}HUF{_closing(opening, entries)},", "-"]
    return Message("\n".join(lines) + "\n", ".sta", "cp1250")


@further("mt942-interim", "DE", "EUR", "de", is_structured=True)
def mt942(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    lines = [":20:INTRADAY", ":25:DE89370400440532013000", ":28C:12/1", ":34F:EUR0,", ":13D:2609301011+0200"]  # fmt: skip
    for e in entries:
        lines.append(f":61:{e.day:%y%m%d}{e.day:%m%d}{'D' if e.amount < 0 else 'C'}R{comma(abs(e.amount))}NMSCNONREF")  # fmt: skip
        lines.append(f":86:177?00UEBERWEISUNG?20{e.text[:27]}")
    out, into = [e.amount for e in entries if e.amount < 0], [e.amount for e in entries if e.amount > 0]  # fmt: skip
    lines += [f":90D:{len(out)}EUR{comma(-sum(out, Decimal(0)))}", f":90C:{len(into)}EUR{comma(sum(into, Decimal(0)))}", "-"]  # fmt: skip
    return Message("\r\n".join(lines) + "\r\n", ".sta")


def _camt(entries: list[Entry], opening: Decimal, *, currency: str, version: str, is_batched: bool) -> str:  # fmt: skip
    def balance(code: str, amount: Decimal, day: str) -> str:
        return (
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy='{currency}'>{abs(amount)}</Amt>"
            f"<CdtDbtInd>{'DBIT' if amount < 0 else 'CRDT'}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
        )

    def entry(e: Entry) -> str:
        mark = "DBIT" if e.amount < 0 else "CRDT"
        status = "<Cd>BOOK</Cd>" if version == "08" else "BOOK"
        parts = [abs(e.amount)]
        if is_batched and abs(e.amount) > 100:
            parts = [Decimal("40.00"), abs(e.amount) - 40]
        details = "".join(
            f"<TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><Amt Ccy='{currency}'>{part}</Amt>"
            f"<CdtDbtInd>{mark}</CdtDbtInd><RmtInf><Ustrd>{escape(e.text)}</Ustrd></RmtInf></TxDtls>"
            for part in parts
        )
        return (
            f"<Ntry><Amt Ccy='{currency}'>{abs(e.amount)}</Amt><CdtDbtInd>{mark}</CdtDbtInd><RvslInd>false</RvslInd>"
            f"<Sts>{status}</Sts><BookgDt><Dt>{e.day}</Dt></BookgDt><ValDt><Dt>{e.day + timedelta(1)}</Dt></ValDt>"
            f"<BkTxCd><Prtry><Cd>X</Cd></Prtry></BkTxCd><NtryDtls><Btch><NbOfTxs>{len(parts)}</NbOfTxs></Btch>{details}</NtryDtls>"
            f"<AddtlNtryInf>{escape(e.text)}</AddtlNtryInf></Ntry>"
        )

    closing = _closing(opening, entries)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}">'
        "<BkToCstmrStmt><GrpHdr><MsgId>1</MsgId><CreDtTm>2026-09-30T10:11:12</CreDtTm></GrpHdr><Stmt><Id>1</Id>"
        f"<Acct><Id><IBAN>CH9300762011623852957</IBAN></Id><Ccy>{currency}</Ccy></Acct>"
        f"{balance('OPBD', opening, '2026-01-01')}{balance('CLBD', closing, '2026-09-30')}"
        f"{''.join(map(entry, entries))}</Stmt></BkToCstmrStmt></Document>"
    )


@further("postfinance-camt", "CH", "CHF", "de", is_structured=True)
def postfinance_camt(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    return Message(_camt(entries, opening, currency="CHF", version="08", is_batched=True), ".xml")


@further("volksbank-camt", "DE", "EUR", "de", is_structured=True)
def volksbank_camt(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    return Message(_camt(entries, opening, currency="EUR", version="02", is_batched=False), ".xml")


@further("camt-advice", "CH", "CHF", "de", is_structured=True)
def camt054(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    text = _camt(entries, opening, currency="CHF", version="04", is_batched=False)
    head, _, rest = text.partition("<Bal>")
    text = head + rest[rest.index("<Ntry>") :] if "<Ntry>" in rest else head + "</Stmt></BkToCstmrStmt></Document>"  # fmt: skip
    for old, new in (("camt.053", "camt.054"), ("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn"), ("Stmt>", "Ntfctn>")):  # fmt: skip
        text = text.replace(old, new)
    return Message(text, ".xml")


@further("chase-ofx", "US", "USD", "en", is_structured=True)
def ofx_sgml(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    rows = "".join(
        f"<STMTTRN>\n<TRNTYPE>{'DEBIT' if e.amount < 0 else 'CREDIT'}\n<DTPOSTED>{e.day:%Y%m%d}120000[0:GMT]\n<TRNAMT>{e.amount}\n"
        f"<FITID>{at}{e.day:%Y%m%d}\n<NAME>{e.text[:32].replace('&', '&amp;')}\n<MEMO>POS\n</STMTTRN>\n"
        for at, e in enumerate(entries)
    )
    return Message(
        "OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nSECURITY:NONE\nENCODING:USASCII\nCHARSET:1252\nCOMPRESSION:NONE\n"
        "OLDFILEUID:NONE\nNEWFILEUID:NONE\n\n<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS>"
        "<DTSERVER>20260930120000<LANGUAGE>ENG</SONRS></SIGNONMSGSRSV1><BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>0"
        "<SEVERITY>INFO</STATUS><STMTRS><CURDEF>USD<BANKACCTFROM><BANKID>021000021<ACCTID>123456789<ACCTTYPE>CHECKING"
        f"</BANKACCTFROM><BANKTRANLIST><DTSTART>20260101<DTEND>20260930\n{rows}</BANKTRANLIST><LEDGERBAL>"
        f"<BALAMT>{_closing(opening, entries)}<DTASOF>20260930</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>",
        ".qfx", "cp1252",
    )  # fmt: skip


@further("boursorama-ofx", "FR", "EUR", "fr", is_structured=True)
def ofx_comma(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    rows = "".join(
        f"<STMTTRN><TRNTYPE>{'DEBIT' if e.amount < 0 else 'CREDIT'}</TRNTYPE><DTPOSTED>{e.day:%Y%m%d}</DTPOSTED>"
        f"<TRNAMT>{comma(e.amount, plus='+')}</TRNAMT><FITID>{at}</FITID><NAME>{escape(e.text)}</NAME></STMTTRN>"
        for at, e in enumerate(entries)
    )
    return Message(
        '<?xml version="1.0" encoding="UTF-8"?><?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE"?><OFX><BANKMSGSRSV1>'
        "<STMTTRNRS><TRNUID>0</TRNUID><STMTRS><CURDEF>EUR</CURDEF><BANKACCTFROM><BANKID>40618</BANKID><ACCTID>1</ACCTID>"
        f"<ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM><BANKTRANLIST><DTSTART>20260101</DTSTART><DTEND>20260930</DTEND>{rows}"
        f"</BANKTRANLIST><LEDGERBAL><BALAMT>{comma(_closing(opening, entries))}</BALAMT><DTASOF>20260930</DTASOF></LEDGERBAL>"
        "</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>",
        ".ofx",
    )


@further("nationwide-qif", "GB", "GBP", "en", is_structured=True)
def qif_british(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    rows = "".join(f"D{e.day:%d/%m/%Y}\nT{point(e.amount, thousands=',')}\nP{e.text}\n^\n" for e in entries)  # fmt: skip
    return Message("!Type:Bank\n" + rows, ".qif")


@further("quicken-qif", "US", "USD", "en", is_structured=True)
def qif_quicken(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    rows = "".join(
        f"D{e.day.month}/{e.day.day:>2}'{e.day:%y}\nU{e.amount}\nT{e.amount}\nCX\nNDEP\nP{e.text}\nLFood\n"
        f"SFood\n${(e.amount / 2).quantize(Decimal('0.01'))}\nSHome\n${e.amount - (e.amount / 2).quantize(Decimal('0.01'))}\n^\n"
        for e in entries
    )
    start = f"D1/ 1'26\nT{opening}\nCX\nPOpening Balance\nL[Checking]\n^\n"
    return Message(f"!Account\nNChecking\nTBank\n^\n!Type:Bank\n{start}{rows}", ".qif")


@further("wells-bai2", "US", "USD", "en", is_structured=True)
def bai2(opening: Decimal, entries: list[Entry], random: Random) -> Message:
    def cents(amount: Decimal) -> str:
        return f"{int(amount * 100)}"

    lines, groups, before = [], 0, opening
    days = sorted({e.day for e in entries})
    for day in days:
        own = [e for e in entries if e.day == day]
        after = own[-1].balance
        part = [f"03,0123456789,USD,010,{cents(before)},,,015,{cents(after)},,/"]
        for e in own:
            part += [f"16,{'475' if e.amount < 0 else '142'},{cents(abs(e.amount))},Z,{random.randint(10**6, 10**7)},,{e.text}", f"88,REF {e.day}"]  # fmt: skip
        total = int(before * 100) + int(after * 100) + sum(int(abs(e.amount) * 100) for e in own)
        part.append(f"49,{total},{len(part) + 1}/")
        lines += [f"02,ANNA,WELLS,1,{day:%y%m%d},2359,USD,2/", *part, f"98,{total},1,{len(part) + 2}/"]  # fmt: skip
        before, groups = after, groups + 1
    head = ["01,WELLS,ANNA,260930,1011,1,80,,2/"]
    return Message("\n".join([*head, *lines, f"99,0,{groups},{len(lines) + 2}/"]) + "\n", ".bai")

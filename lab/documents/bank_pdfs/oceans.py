"""Statements of Australia, India, Singapore, Japan and South Africa."""

from decimal import Decimal

from lab.documents.bank_pdfs.activity import account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet


def _front(s: Sheet, name: str, foot: str, *lines: str) -> None:
    s.on_page = lambda number: s.footer(foot, f"Page {number}")
    s.page()
    s.say(name, is_bold=True, size=13)
    s.gap()
    s.say(*lines)
    s.gap()


@bank("commbank", "AU", "AUD", "en", "CR and DR behind balances")
def commbank(s: Sheet) -> None:
    own = account(s.random, "en", "AUD", period(s.random, is_whole_month=False))

    def side(amount: Decimal) -> str:
        return f"${s.num(amount)} {'CR' if amount >= 0 else 'DR'}"

    _front(s, "Commonwealth Bank", "Commonwealth Bank of Australia ABN 48 123 123 124 AFSL and Australian credit licence 234945",
           f"Statement {s.random.randint(2, 40)}", f"Account Number 06 2000 {own.number[:8]}", f"Statement Period {s.day(own.start, '{d} {Mon} {yyyy}')} - {s.day(own.end, '{d} {Mon} {yyyy}')}")  # fmt: skip
    s.pairs((("Closing Balance", side(own.closing)),))
    s.gap()
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{dd} {Mon}"),
                "text": f"{own.start.year} OPENING BALANCE",
                "balance": side(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    for e in own.entries:
        money = {"debit": s.num(e.amount)} if e.is_debit else {"credit": "$" + s.num(e.amount)}
        rows.append(
            {
                "date": s.day(e.day, "{dd} {Mon}"),
                "text": e.lines,
                "balance": side(e.balance),
                **money,
            }
        )
    if s.style.has_balances:
        rows.append(
            {
                "date": s.day(own.end, "{dd} {Mon}"),
                "text": f"{own.end.year} CLOSING BALANCE",
                "balance": side(own.closing),
            }
        )
    s.table([
        Column("date", "Date", 0.1, "date"), Column("text", "Transaction", 0.42, "text"), Column("debit", "Debit", 0.14, "debit", "r"), Column("credit", "Credit", 0.15, "credit", "r"), Column("balance", "Balance", 0.19, "balance", "r"),
    ], rows)  # fmt: skip
    s.gap()
    if s.style.has_balances:
        s.say(
            "Opening balance   - Total debits   + Total credits   = Closing balance",
            f"{side(own.opening)}   ${s.num(own.paid_out)}   ${s.num(own.paid_in)}   {side(own.closing)}",
        )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank("hdfc", "IN", "INR", "en", "seven columns, lakhs", fixed="separator")
def hdfc(s: Sheet) -> None:
    own = account(s.random, "en", "INR", period(s.random), scale=20)
    _front(s, "HDFC BANK LIMITED", "*Closing balance includes funds earmarked for hold and uncleared funds. Contents of this statement will be considered correct. GSTIN 27AAACH2702H1Z0",
           "MS JANE SAMPLE", f"Account No : 5010{own.number}", f"Statement From : {s.day(own.start, '{dd}/{mm}/{yyyy}')}   To : {s.day(own.end, '{dd}/{mm}/{yyyy}')}   Currency : INR")  # fmt: skip

    def lakh(amount: Decimal) -> str:
        return ("-" if amount < 0 else "") + _lakhs(amount)

    rows: list[Cells] = [
        {
            "date": s.day(e.day, "{dd}/{mm}/{yy}"),
            "text": e.lines,
            "ref": f"{s.random.randint(10**11, 10**12):016}",
            "value": s.day(e.value_day, "{dd}/{mm}/{yy}"),
            "debit" if e.is_debit else "credit": lakh(abs(e.amount)),
            "balance": lakh(e.balance),
        }
        for e in own.entries
    ]
    s.table([
        Column("date", "Date", 0.09, "date"), Column("text", "Narration", 0.27, "text"), Column("ref", "Chq./Ref.No.", 0.17), Column("value", "Value Dt", 0.09), Column("debit", "Withdrawal|Amt.", 0.125, "debit", "r"),
        Column("credit", "Deposit|Amt.", 0.125, "credit", "r"), Column("balance", "Closing|Balance", 0.13, "balance", "r"),
    ], rows)  # fmt: skip
    s.gap()
    if s.style.has_balances:
        s.ensure(4)
        s.say("STATEMENT SUMMARY :-", is_bold=True)
        for at, (label, value) in enumerate(
            (
                ("Opening Balance", lakh(own.opening)),
                ("Dr Count", str(len(own.entries) - len(own.of("in")))),
                ("Cr Count", str(len(own.of("in")))),
                ("Debits", lakh(own.paid_out)),
                ("Credits", lakh(own.paid_in)),
                ("Closing Bal", lakh(own.closing)),
            )
        ):
            s.put(s.x(0.15 + at * 0.165), s.y, label, align="r")
            s.put(s.x(0.15 + at * 0.165), s.y + s.style.leading, value, align="r")
        s.gap(2)
    s.booked(own, own.entries, balances="row")
    s.framed(own)


def _lakhs(amount: Decimal) -> str:
    whole, _, cents = f"{abs(amount):.2f}".partition(".")
    head, tail = whole[:-3], whole[-3:]
    parts = [head[max(0, at - 2) : at] for at in range(len(head), 0, -2)][::-1]
    return ",".join([*parts, tail]) + "." + cents


@bank("icici", "IN", "INR", "en", "number of the row, brackets of Dr")
def icici(s: Sheet) -> None:
    own = account(s.random, "en", "INR", period(s.random), scale=10)
    _front(
        s,
        "ICICI Bank",
        "Registered Office: ICICI Bank Tower, Near Chakli Circle, Vadodara 390007. www.icicibank.com Dial your bank 1860 120 7777",
        f"DETAILED STATEMENT   Account Number {own.number} ( INR ) - JANE SAMPLE",
        f"Transaction Period : From {s.day(own.start, '{dd}/{mm}/{yyyy}')} To {s.day(own.end, '{dd}/{mm}/{yyyy}')}",
    )
    rows: list[Cells] = [
        {
            "number": str(at),
            "value": s.day(e.value_day, "{dd}/{mm}/{yyyy}"),
            "date": s.day(e.day, "{dd}/{mm}/{yyyy}"),
            "cheque": "-",
            "text": e.lines,
            "debit": s.num(e.amount) if e.is_debit else "0.00",
            "credit": s.num(e.amount) if not e.is_debit else "0.00",
            "balance": s.signed(e.balance),
        }
        for at, e in enumerate(own.entries, 1)
    ]
    s.table([
        Column("number", "S No.", 0.06), Column("value", "Value Date", 0.12), Column("date", "Transaction|Date", 0.12, "date"), Column("cheque", "Cheque|Number", 0.09), Column("text", "Transaction Remarks", 0.25, "text"),
        Column("debit", "Withdrawal|Amount (INR )", 0.12, "debit", "r"), Column("credit", "Deposit|Amount (INR )", 0.12, "credit", "r"), Column("balance", "Balance|(INR )", 0.12, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")


@bank("dbs", "SG", "SGD", "en", "several accounts in one file")
def dbs(s: Sheet) -> None:
    span = period(s.random)
    accounts = [
        (name, account(s.random, "en", "SGD", span, rows=(3, 16)))
        for name in ("DBS Multiplier Account", "POSB eSavings Account")
    ]
    _front(
        s,
        "Consolidated Statement",
        "DBS Bank Ltd 12 Marina Boulevard, Singapore 018982. Co. Reg. No. 196800306E. Insured up to S$100,000 by SDIC.",
        "MS JANE SAMPLE",
        f"Account Summary as at {s.day(span[1], '{dd} {Mon} {yyyy}')}",
    )
    if s.style.has_balances:
        s.table(
            [Column("name", "Account", 0.4, "text"), Column("number", "Account No.", 0.3), Column("value", "Balance (SGD)", 0.3, "spare", "r")],
            [{"name": name, "number": own.number, "value": s.signed(own.closing)} for name, own in accounts],
        )  # fmt: skip
    for name, own in accounts:
        s.gap(1.5)
        s.ensure(8)
        s.say(f"Transaction Details   {name}   Account No. {own.number}", is_bold=True)
        rows: list[Cells] = (
            [{"text": "Balance Brought Forward", "balance": "SGD " + s.signed(own.opening)}]
            if s.style.has_balances
            else []
        )
        rows += [
            {
                "date": s.day(e.day, "{dd}/{mm}/{yyyy}"),
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                "balance": s.signed(e.balance),
            }
            for e in own.entries
        ]
        rows.append({"text": "Total", "debit": s.num(own.paid_out), "credit": s.num(own.paid_in)})
        if s.style.has_balances:
            rows.append(
                {"text": "Balance Carried Forward", "balance": "SGD " + s.signed(own.closing)}
            )
        s.table([
            Column("date", "Date", 0.13, "date"), Column("text", "Description", 0.39, "text"), Column("debit", "Withdrawal (-)", 0.16, "debit", "r"), Column("credit", "Deposit (+)", 0.16, "credit", "r"), Column("balance", "Balance", 0.16, "balance", "r"),
        ], rows)  # fmt: skip
        s.booked(own, own.entries, balances="row")
        s.framed(own)


@bank("mufg", "JP", "JPY", "ja", "no decimals, Japanese", fixed="separator letters")
def mufg(s: Sheet) -> None:
    own = account(s.random, "ja", "JPY", period(s.random), places=0, scale=100)
    _front(
        s,
        "三菱UFJ銀行",
        "株式会社三菱UFJ銀行 登録金融機関 関東財務局長(登金)第5号",
        "普通預金 お取引明細",
        f"口座番号 {own.number[:7]}",
        f"期間 {own.start.year}年{own.start.month}月{own.start.day}日 ~ {own.end.year}年{own.end.month}月{own.end.day}日",
    )
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{yyyy}/{mm}/{dd}"),
                "text": "繰越残高",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{yyyy}/{mm}/{dd}"),
            "text": e.lines,
            "debit" if e.is_debit else "credit": s.num(e.amount),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    s.table([
        Column("date", "日付", 0.15, "date"), Column("text", "摘要", 0.37, "text"), Column("debit", "お支払金額", 0.16, "debit", "r"), Column("credit", "お預り金額", 0.16, "credit", "r"), Column("balance", "差引残高", 0.16, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")


@bank("fnb", "ZA", "ZAR", "en", "Cr behind credits, debits bare")
def fnb(s: Sheet) -> None:
    own = account(s.random, "en", "ZAR", period(s.random, is_whole_month=False), scale=5)

    def side(amount: Decimal) -> str:
        return s.num(amount) + ("Cr" if amount >= 0 else "Dr")

    _front(s, "First National Bank", "First National Bank - a division of FirstRand Bank Limited. An Authorised Financial Services and Credit Provider (NCRCP20).",
           f"FNB Aspire Current Account : {own.number}", f"Statement Period : {s.day(own.start, '{d} {Month} {yyyy}')} to {s.day(own.end, '{d} {Month} {yyyy}')}", f"Statement Date : {s.day(own.end, '{d} {Month} {yyyy}')}")  # fmt: skip
    s.say("Statement Balances", is_bold=True)
    s.pairs(
        (
            ("Opening Balance", side(own.opening)),
            ("Closing Balance", side(own.closing)),
            ("VAT Inclusive @ 15.000%", "0.00"),
        )
    )
    s.gap()
    s.say("Transactions in RAND (ZAR)", is_bold=True)
    rows: list[Cells] = [
        {
            "date": s.day(e.day, "{dd} {Mon}"),
            "text": e.lines,
            "amount": s.num(e.amount) + ("" if e.is_debit else "Cr"),
            "balance": side(e.balance),
            "charge": "6.50" if s.random.random() < 0.3 else "",
        }
        for e in own.entries
    ]
    s.table([
        Column("date", "Date", 0.1, "date"), Column("text", "Description", 0.44, "text"), Column("amount", "Amount", 0.16, "amount", "r"), Column("balance", "Balance", 0.17, "balance", "r"), Column("charge", "Accrued Bank|Charges", 0.13, "spare", "r"),
    ], rows)  # fmt: skip
    if s.style.has_balances:
        s.say(f"Closing Balance   {side(own.closing)}", is_bold=True)
    s.say(
        f"Turnover for Statement Period   No. Credit Transactions {len(own.of('in'))}   {s.num(own.paid_in)}Cr",
        f"No. Debit Transactions {len(own.entries) - len(own.of('in'))}   {s.num(own.paid_out)}Dr",
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)

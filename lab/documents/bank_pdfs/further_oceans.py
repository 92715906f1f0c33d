"""Layouts of the second set from Australia, New Zealand, Singapore and Hong Kong."""

from decimal import Decimal

from lab.documents.bank_pdfs.activity import account, period
from lab.documents.bank_pdfs.further import head, sides
from lab.documents.bank_pdfs.layouts import further_bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet


@further_bank("nab", "AU", "AUD", "en", "date once a day, dotted leaders, Cr and Dr")
def nab(s: Sheet) -> None:
    own = account(s.random, "en", "AUD", period(s.random, is_whole_month=False))
    head(
        s,
        "National Australia Bank",
        "National Australia Bank Limited ABN 12 004 044 937 AFSL 230686. Currency AUD.",
        "NAB Classic Banking",
        f"Statement starts {s.day(own.start, '{d} {Month} {yyyy}')}",
        f"Statement ends {s.day(own.end, '{d} {Month} {yyyy}')}",
        f"Account number {own.number[:9]}",
    )

    def side(amount: Decimal) -> str:
        return f"{s.num(amount)} {'Cr' if amount >= 0 else 'Dr'}"

    s.pairs(
        (
            ("Opening balance", "$" + side(own.opening)),
            ("Total credits", "$" + s.num(own.paid_in)),
            ("Total debits", "$" + s.num(own.paid_out)),
            ("Closing balance", "$" + side(own.closing)),
        )
    )
    s.gap()
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{d} {Mon} {yyyy}"),
                "text": "Brought forward",
                "balance": side(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    before = None
    for at, e in enumerate(own.entries):
        shown: Cells = {"date": s.day(e.day, "{d} {Mon} {yyyy}")} if e.day != before else {}
        before = e.day
        balance: Cells = {"balance": side(e.balance)} if own.last_of_day(at) else {}
        rows.append(
            {
                **shown,
                "text": [*e.lines[:-1], e.lines[-1] + " " + "." * 12],
                **sides(s, e),
                **balance,
            }
        )
    s.table(
        [
            Column("date", "Date", 0.13, "date"),
            Column("text", "Particulars", 0.42, "text"),
            Column("debit", "Debits", 0.14, "debit", "r"),
            Column("credit", "Credits", 0.14, "credit", "r"),
            Column("balance", "Balance", 0.17, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@further_bank("ocbc", "SG", "SGD", "en", "two dates, carried forward rows")
def ocbc(s: Sheet) -> None:
    own = account(s.random, "en", "SGD", period(s.random), rows=(10, 60))
    head(
        s,
        "OCBC Bank",
        "Oversea-Chinese Banking Corporation Limited. Deposit Insurance Scheme S$100,000. GST 193200032W",
        "STATEMENT OF ACCOUNT",
        f"360 ACCOUNT  Account No. {own.number}",
        f"{s.day(own.start, '{d} {MON} {yyyy}')} TO {s.day(own.end, '{d} {MON} {yyyy}')}  Currency SGD",
    )
    rows: list[Cells] = (
        [{"text": "BALANCE B/F", "balance": s.signed(own.opening)}] if s.style.has_balances else []
    )
    first = len(rows)
    rows += [
        {
            "date": s.day(e.day, "{dd} {MON}"),
            "value": s.day(e.value_day, "{dd} {MON}"),
            "text": e.lines,
            **sides(s, e),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append({"text": "BALANCE C/F", "balance": s.signed(own.closing)})

    def carry(at: int) -> tuple[Cells, Cells]:
        balance = own.entries[at - first - 1].balance if at > first else own.opening
        line: Cells = {"text": "BALANCE C/F", "balance": s.signed(balance)}
        return (line, {**line, "text": "BALANCE B/F"}) if s.style.has_balances else ({}, {})

    s.table(
        [
            Column("date", "Transaction|Date", 0.11, "date"),
            Column("value", "Value|Date", 0.1),
            Column("text", "|Description", 0.34, "text"),
            Column("debit", "|Withdrawal", 0.15, "debit", "r"),
            Column("credit", "|Deposit", 0.15, "credit", "r"),
            Column("balance", "|Balance", 0.15, "balance", "r"),
        ],
        rows,
        carry=carry,
    )
    s.say(
        f"Total Withdrawals/Deposits   {s.num(own.paid_out)}   {s.num(own.paid_in)}",
        "Total Interest Paid This Year   12.31",
        "Average Balance   3,204.11",
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@further_bank("anz-nz", "NZ", "NZD", "en", "type codes, OD balances")
def anz(s: Sheet) -> None:
    own = account(s.random, "en", "NZD", period(s.random))
    head(
        s,
        "ANZ Bank New Zealand",
        "ANZ Bank New Zealand Limited. You have one calendar month to notify us of errors.",
        "Go Account",
        f"Account Number 01-0123-{own.number[:7]}-00",
        f"Statement Period {s.day(own.start, '{dd} {Mon} {yyyy}')} - {s.day(own.end, '{dd} {Mon} {yyyy}')}",
    )
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{dd} {Mon}"),
                "text": "Balance brought forward from previous page",
                "balance": s.trailing(own.opening, minus=" OD"),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd} {Mon}"),
            "type": s.random.choice(("EP", "VT", "AP", "DD")) if e.is_debit else "DC",
            "text": e.lines,
            **sides(s, e),
            "balance": s.trailing(e.balance, minus=" OD"),
        }
        for e in own.entries
    ]
    rows.append(
        {
            "text": "Totals at end of page",
            "debit": "$" + s.num(own.paid_out),
            "credit": "$" + s.num(own.paid_in),
        }
    )
    s.table(
        [
            Column("date", "Date", 0.09, "date"),
            Column("type", "Type", 0.07),
            Column("text", "Details", 0.39, "text"),
            Column("debit", "Withdrawals", 0.15, "debit", "r"),
            Column("credit", "Deposits", 0.15, "credit", "r"),
            Column("balance", "Balance", 0.15, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="row")


@further_bank("hsbc-hk", "HK", "HKD", "en", "several accounts, date once a day")
def hsbc_hk(s: Sheet) -> None:
    span = period(s.random)
    head(
        s,
        "HSBC One",
        "The Hongkong and Shanghai Banking Corporation Limited. Deposits protected up to HKD800,000.",
        "MS JANE SAMPLE",
        f"Statement date {s.day(span[1], '{d} {Month} {yyyy}')}  Number 123-456789-833",
    )
    s.say("Portfolio Summary", is_bold=True)
    for title in ("HKD Savings", "HKD Current"):
        own = account(s.random, "en", "HKD", span, rows=(3, 14), scale=8)
        s.gap(1.5)
        s.ensure(8)
        s.say(f"{title}  Account number {own.number}", is_bold=True)
        rows: list[Cells] = (
            [
                {
                    "date": s.day(own.start, "{d} {Mon}"),
                    "text": "B/F BALANCE",
                    "balance": s.trailing(own.opening, minus="DR"),
                }
            ]
            if s.style.has_balances
            else []
        )
        before = None
        for at, e in enumerate(own.entries):
            shown: Cells = {"date": s.day(e.day, "{d} {Mon}")} if e.day != before else {}
            before = e.day
            balance: Cells = (
                {"balance": s.trailing(e.balance, minus="DR")} if own.last_of_day(at) else {}
            )
            rows.append({**shown, "text": e.lines, **sides(s, e), **balance})
        if s.style.has_balances:
            rows.append(
                {
                    "date": s.day(own.end, "{d} {Mon}"),
                    "text": "C/F BALANCE",
                    "balance": s.trailing(own.closing, minus="DR"),
                }
            )
        s.table(
            [
                Column("date", "Date", 0.1, "date"),
                Column("text", "Transaction Details", 0.42, "text"),
                Column("credit", "Deposit", 0.16, "credit", "r"),
                Column("debit", "Withdrawal", 0.16, "debit", "r"),
                Column("balance", "Balance", 0.16, "balance", "r"),
            ],
            rows,
        )
        s.booked(own, own.entries, balances="day")
        s.framed(own)

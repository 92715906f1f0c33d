"""Statements of the United Kingdom and Ireland."""

from lab.documents.bank_pdfs.activity import Account, account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet


def _front(s: Sheet, name: str, own: Account, *lines: str) -> None:
    s.on_page = lambda number: s.footer(
        f"{name} Bank plc. Authorised by the Prudential Regulation Authority. Registered in England No. 1026167. Page {number}",
        "Eligible deposits are protected up to a total of £85,000.00 by the FSCS. Debit interest 39.90% EAR from 01 Mar 2024.",
    )
    s.page()
    s.say(name, is_bold=True, size=15)
    s.say("Ms J Sample", "1 High Street", "Leeds LS1 4AP")
    s.gap()
    s.say(*lines)
    s.say(f"Sort code 20-00-00   Account no. {own.number[:8]}")
    s.gap()


def _paid(s: Sheet, own: Account) -> dict[str, str]:
    return {"in": s.num(own.paid_in), "out": s.num(own.paid_out)}


@bank("barclays", "UK", "GBP", "en", "date once a day, box at the side", fixed="page")
def barclays(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random, is_whole_month=False))
    _front(
        s,
        "Barclays",
        own,
        f"{s.day(own.start, '{dd} {Mon}')} - {s.day(own.end, '{dd} {Mon} {yyyy}')}",
        "Your accounts at a glance",
    )
    if s.style.has_balances:
        top = 120.0
        for label, value in (
            ("At a glance", ""), (s.day(own.start, "{dd} {Mon} {yyyy}"), ""), ("Start balance", s.signed(own.opening, plus="£", minus="-£")), ("Money in", "£" + s.num(own.paid_in)),
            ("Money out", "£" + s.num(own.paid_out)), (s.day(own.end, "{dd} {Mon} {yyyy}"), ""), ("End balance", s.signed(own.closing, plus="£", minus="-£")),
        ):  # fmt: skip
            s.put(s.x(0.72), top, label)
            s.put(s.x(1.0), top, value, align="r", is_bold=True)
            top += 12
        s.y = max(s.y, top + 10)
    s.say("Your transactions", is_bold=True, size=12)
    s.right_edge = 0.74
    start_page = s.paper.pages
    top = s.y
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{d} {Mon}"),
                "text": "Start balance",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    before = None
    for at, e in enumerate(own.entries):
        shown = {"date": s.day(e.day, "{d} {Mon}")} if e.day != before else {}
        before = e.day
        balance = {"balance": s.signed(e.balance)} if own.last_of_day(at) else {}
        rows.append(
            {
                **shown,
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **balance,
            }
        )
    count = len(rows) - len(own.entries)

    def carry(number: int) -> tuple[Cells, Cells]:
        balance = s.signed(
            own.entries[number - count - 1].balance if number > count else own.opening
        )
        if not s.style.has_balances:
            return {"text": "Continued"}, {}
        return {"text": "Balance carried forward to next page", "balance": balance}, {
            "text": "Balance brought forward from previous page",
            "balance": balance,
        }

    if s.style.has_balances:
        rows.append(
            {
                "date": s.day(own.end, "{d} {Mon}"),
                "text": "End balance",
                "balance": s.signed(own.closing),
            }
        )
    for line, text in enumerate(
        (
            "Anything wrong? If you've",
            "noticed any incorrect or",
            "unusual transactions, call",
            "us on 0345 734 5345.",
            "",
            "Savings at 4.15% AER",
            "until 30 Sep 2026 on",
            "balances of £1 to",
            "£10,000.00",
        )
    ):
        if start_page == s.paper.pages:
            s.put(s.x(1.04), top + 11 * line, text, size=7)
    s.table([
        Column("date", "Date", 0.11, "date"), Column("text", "Description", 0.42, "text"), Column("debit", "Money out £", 0.16, "debit", "r"),
        Column("credit", "Money in £", 0.15, "credit", "r"), Column("balance", "Balance £", 0.16, "balance", "r"),
    ], rows, carry=carry)  # fmt: skip
    s.right_edge = 1.0
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@bank("hsbc-uk", "UK", "GBP", "en", "date once a day, balance once a day")
def hsbc(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random, is_whole_month=False))
    _front(
        s,
        "HSBC UK",
        own,
        f"{s.day(own.start, '{d} {Month}')} to {s.day(own.end, '{d} {Month} {yyyy}')}",
    )
    s.say("Account Summary", is_bold=True)
    s.pairs(
        (
            ("Opening Balance", s.trailing(own.opening, minus=" D")),
            ("Payments In", s.num(own.paid_in)),
            ("Payments Out", s.num(own.paid_out)),
            ("Closing Balance", s.trailing(own.closing, minus=" D")),
        )
    )
    s.gap()
    s.say("Your Bank Account details", is_bold=True)
    rows: list[Cells] = []
    first = {
        "date": s.day(own.start, "{dd} {Mon} {yy}"),
        "text": "BALANCEBROUGHTFORWARD",
        "balance": s.trailing(own.opening, minus=" D"),
    }
    if s.style.has_balances:
        rows.append({**first})
    before = None
    for at, e in enumerate(own.entries):
        shown = {"date": s.day(e.day, "{dd} {Mon} {yy}")} if e.day != before else {}
        before = e.day
        kind = s.random.choice(("VIS", "DD", ")))", "BP", "SO")) if e.is_debit else "CR"
        balance = {"balance": s.trailing(e.balance, minus=" D")} if own.last_of_day(at) else {}
        rows.append(
            {
                **shown,
                "kind": kind,
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **balance,
            }
        )
    if s.style.has_balances:
        rows.append(
            {
                "date": s.day(own.end, "{dd} {Mon} {yy}"),
                "text": "BALANCECARRIEDFORWARD",
                "balance": s.trailing(own.closing, minus=" D"),
            }
        )
    s.table([
        Column("date", "Date", 0.12, "date"), Column("kind", "Payment type and details", 0.07), Column("text", "", 0.36, "text"), Column("debit", "Paid out", 0.15, "debit", "r"),
        Column("credit", "Paid in", 0.15, "credit", "r"), Column("balance", "Balance", 0.15, "balance", "r"),
    ], rows)  # fmt: skip
    s.gap()
    s.say(
        "Credit Interest Rates    balance    AER variable         Debit Interest Rates    balance    EAR variable",
        "Credit interest is not applied        0.00%     Over £25    39.90%",
    )
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@bank("lloyds", "UK", "GBP", "en", "blank written in empty cells")
def lloyds(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random))
    _front(
        s,
        "LLOYDS BANK",
        own,
        f"{s.day(own.start, '{dd} {Month} {yyyy}')} to {s.day(own.end, '{dd} {Month} {yyyy}')}",
    )
    s.pairs((
        ("Money In", "£" + s.num(own.paid_in)), (f"Balance on {s.day(own.start, '{dd} {Month} {yyyy}')}", s.signed(own.opening, plus="£", minus="-£")),
        ("Money Out", "£" + s.num(own.paid_out)), (f"Balance on {s.day(own.end, '{dd} {Month} {yyyy}')}", s.signed(own.closing, plus="£", minus="-£")),
    ))  # fmt: skip
    s.gap()
    s.say("Your Transactions", is_bold=True, size=11)
    rows: list[Cells] = []
    for e in own.entries:
        empty = "blank." if s.random.random() < 0.8 else ""
        money = (
            {"debit": s.num(e.amount), "credit": empty}
            if e.is_debit
            else {"debit": empty, "credit": s.num(e.amount)}
        )
        rows.append(
            {
                "date": s.day(e.day, "{dd} {Mon} {yy}"),
                "text": e.lines,
                "type": s.random.choice(("DEB", "DD", "FPO", "SO")) if e.is_debit else "FPI",
                "balance": s.signed(e.balance),
                **money,
            }
        )
    s.table([
        Column("date", "Date", 0.13, "date"), Column("text", "Description", 0.34, "text"), Column("type", "Type", 0.08), Column("credit", "Money In (£)", 0.15, "credit", "r"),
        Column("debit", "Money Out (£)", 0.15, "debit", "r"), Column("balance", "Balance (£)", 0.15, "balance", "r"),
    ], rows)  # fmt: skip
    s.say(
        "Transaction types: DEB - Debit card, DD - Direct debit, FPO - Faster payment, SO - Standing order"
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank("monzo", "UK", "GBP", "en", "newest first")
def monzo(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random))
    s.on_page = lambda number: s.footer(
        "Monzo Bank Limited (https://monzo.com) is a company registered in England No. 9446231. 230 City Road, London.",
        f"{number}",
    )
    s.page()
    s.say("Personal Account statement", is_bold=True, size=14)
    s.say(f"{s.day(own.start, '{dd}/{mm}/{yyyy}')} - {s.day(own.end, '{dd}/{mm}/{yyyy}')}")
    s.pairs(
        (
            ("Personal Account balance", s.signed(own.closing, plus="£", minus="-£")),
            ("Total outgoings", "-£" + s.num(own.paid_out)),
            ("Total deposits", "+£" + s.num(own.paid_in)),
        )
    )
    s.gap()
    turned = list(reversed(own.entries))
    s.table(
        [Column("date", "Date", 0.15, "date"), Column("text", "Description", 0.49, "text"), Column("amount", "(GBP) Amount", 0.18, "amount", "r"), Column("balance", "(GBP) Balance", 0.18, "balance", "r")],
        [{"date": s.day(e.day, "{dd}/{mm}/{yyyy}"), "text": e.lines, "amount": s.signed(e.amount), "balance": s.signed(e.balance)} for e in turned],
    )  # fmt: skip
    s.booked(own, turned, balances="row")


@bank("nationwide", "UK", "GBP", "en", "year on a line of its own")
def nationwide(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random, is_whole_month=False))
    _front(
        s,
        "Nationwide",
        own,
        f"Statement date: {s.day(own.end, '{dd} {Month} {yyyy}')}",
        f"Statement no: {s.random.randint(2, 90)}",
    )
    s.pairs(
        (
            ("Start balance", s.signed(own.opening, plus="£", minus="-£")),
            ("End balance", s.signed(own.closing, plus="£", minus="-£")),
        )
    )
    s.gap()
    rows: list[Cells] = [{"date": str(own.start.year)}]
    if s.style.has_balances:
        rows.append(
            {
                "text": "Balance from statement "
                + str(s.random.randint(2, 90))
                + " dated "
                + s.day(own.start, "{dd}/{mm}/{yyyy}"),
                "balance": s.signed(own.opening),
            }
        )
    year, before = own.start.year, None
    for at, e in enumerate(own.entries):
        if e.day.year != year:
            rows.append({"date": str(e.day.year)})
            year = e.day.year
        shown = {"date": s.day(e.day, "{dd} {Mon}")} if e.day != before else {}
        before = e.day
        balance = {"balance": s.signed(e.balance)} if own.last_of_day(at) else {}
        rows.append(
            {
                **shown,
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **balance,
            }
        )
    s.table([
        Column("date", "Date", 0.1, "date"), Column("text", "Description", 0.45, "text"), Column("debit", "£ Out", 0.15, "debit", "r"), Column("credit", "£ In", 0.15, "credit", "r"),
        Column("balance", "£ Balance", 0.15, "balance", "r"),
    ], rows)  # fmt: skip
    s.gap()
    s.say(
        "Summary box: AER 0.00%. Interest, Rates and Fees: arranged overdraft 39.9% APR/EAR. Receiving money in sterling Free."
    )
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@bank("aib", "IE", "EUR", "en", "date once a day, dr behind balances")
def aib(s: Sheet) -> None:
    own = account(s.random, "en", "EUR", period(s.random))
    s.on_page = lambda number: s.footer(
        "Allied Irish Banks, p.l.c. is regulated by the Central Bank of Ireland.",
        f"Page Number {number}   Thank you for banking with us.",
    )
    s.page()
    s.say("Statement of Account with Allied Irish Banks, p.l.c.", is_bold=True, size=12)
    s.say(
        "Personal Bank Account",
        "Account Name MS J SAMPLE",
        f"Account Number {own.number[:5]}-{own.number[5:8]}",
        f"Date of Statement {s.day(own.end, '{d} {Mon} {yyyy}')}",
        "IBAN: IE12 AIBK 9312 3412 3456 78",
    )
    s.gap()
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{d} {Mon} {yyyy}"),
                "text": "BALANCE FORWARD",
                "balance": s.trailing(own.opening, minus="dr"),
            }
        ]
        if s.style.has_balances
        else []
    )
    before = None
    for at, e in enumerate(own.entries):
        shown = {"date": s.day(e.day, "{d} {Mon} {yyyy}")} if e.day != before else {}
        before = e.day
        balance = {"balance": s.trailing(e.balance, minus="dr")} if own.last_of_day(at) else {}
        rows.append(
            {
                **shown,
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **balance,
            }
        )
    s.table([
        Column("date", "Date", 0.14, "date"), Column("text", "Details", 0.41, "text"), Column("debit", "Debit €", 0.15, "debit", "r"), Column("credit", "Credit €", 0.15, "credit", "r"),
        Column("balance", "Balance €", 0.15, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="day")
    s.framed(own)

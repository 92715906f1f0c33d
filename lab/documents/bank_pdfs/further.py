"""A second set of layouts, drawn after the first contact of the others and still without a look at the reader."""

from decimal import Decimal

from lab.documents.bank_pdfs.activity import Entry, account, period
from lab.documents.bank_pdfs.layouts import further_bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet
from lab.documents.statements.paper import LETTER


def head(s: Sheet, name: str, foot: str, *lines: str) -> None:
    s.on_page = lambda number: s.footer(foot, f"Page {number}")
    s.page()
    s.say(name, is_bold=True, size=13)
    s.gap()
    s.say(*lines)
    s.gap()


def sides(s: Sheet, e: Entry) -> Cells:
    return {"debit" if e.is_debit else "credit": s.num(e.amount)}


def _total(entries: list[Entry]) -> Decimal:
    return sum((abs(e.amount) for e in entries), Decimal("0.00"))


@further_bank(
    "citibank",
    "US",
    "USD",
    "en",
    "two amount columns, running balance",
    size=LETTER,
)
def citibank(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random))
    head(
        s,
        "Citibank, N.A.",
        "FDIC insured. Checks over $5,525.00 may be held. Citigold rates as of 02/01/2026.",
        "JANE Q SAMPLE",
        f"Statement Period {s.day(own.start, '{Mon} {d}')} - {s.day(own.end, '{Mon} {d}, {yyyy}')}",
        f"Regular Checking {own.number}",
    )
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{mm}/{dd}/{yy}"),
                "text": "Opening Balance",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{mm}/{dd}/{yy}"),
            "text": e.lines,
            **sides(s, e),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "date": s.day(own.end, "{mm}/{dd}/{yy}"),
                "text": "Closing Balance",
                "balance": s.signed(own.closing),
            }
        )
    rows.append(
        {
            "text": "Total Subtracted/Added",
            "debit": s.num(own.paid_out),
            "credit": s.num(own.paid_in),
        }
    )
    s.table(
        [
            Column("date", "Date", 0.11, "date"),
            Column("text", "Description", 0.41, "text"),
            Column("debit", "Amount Subtracted", 0.17, "debit", "r"),
            Column("credit", "Amount Added", 0.15, "credit", "r"),
            Column("balance", "Balance", 0.16, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@further_bank(
    "us-bank",
    "US",
    "USD",
    "en",
    "sections, trailing minus, reference column",
    size=LETTER,
    fixed="swap",
)
def us_bank(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random, is_whole_month=False), checks=2)
    head(
        s,
        "U.S. Bank Smartly Checking",
        "U.S. Bank National Association Member FDIC. To contact us call 1-800-872-2657.",
        "MS JANE SAMPLE",
        f"Account Number {own.number}",
        f"Statement Period: {s.day(own.start, '{Mon} {d}, {yyyy}')} through {s.day(own.end, '{Mon} {d}, {yyyy}')}",
    )
    s.say("Account Summary", is_bold=True)
    s.pairs(
        (
            (f"Beginning Balance on {s.day(own.start, '{Mon} {d}')}", s.trailing(own.opening)),
            ("Deposits / Credits", s.num(own.paid_in)),
            ("Withdrawals", s.num(own.paid_out) + "-"),
            (
                f"Ending Balance on {s.day(own.end, '{Mon} {d}, {yyyy}')}",
                "$ " + s.trailing(own.closing),
            ),
        )
    )
    for title, entries, sign in (
        ("Deposits / Credits", own.of("in"), ""),
        ("Card Withdrawals", own.of("card"), "-"),
        ("Other Withdrawals", own.of("electronic", "fee"), "-"),
    ):
        if entries:
            s.gap()
            s.ensure(5)
            s.say(title, is_bold=True, size=10)
            rows: list[Cells] = [
                {
                    "date": s.day(e.day, "{Mon} {d}"),
                    "text": e.lines,
                    "ref": f"REF # {s.random.randint(10**9, 10**10)}",
                    "amount": ("$ " if not at else "") + s.num(e.amount) + sign,
                }
                for at, e in enumerate(entries)
            ]
            s.table(
                [
                    Column("date", "Date", 0.1, "date"),
                    Column("text", "Description of Transaction", 0.45, "text"),
                    Column("ref", "Ref Number", 0.25),
                    Column("amount", "Amount", 0.2, "amount", "r"),
                ],
                rows,
            )
            s.put(s.x(0.55), s.y, f"Total {title}", is_bold=True)
            s.put(s.x(1) - 4, s.y, f"$ {s.num(_total(entries))}{sign}", is_bold=True, align="r")
            s.gap()
            s.booked(own, entries)
    checks = own.of("check")
    if checks:
        s.gap()
        s.ensure(6)
        s.say("Checks Presented Conventionally", is_bold=True, size=10)
        high = -(-len(checks) // 2)
        for column in range(min(2, len(checks))):
            for at, label in ((0.0, "Check"), (0.12, "Date"), (0.42, "Amount")):
                s.put(
                    s.x(column * 0.5 + at), s.y, label, is_bold=True, align="r" if at > 0.4 else "l"
                )
        s.gap()
        for line in range(high):
            s.ensure(1)
            for column in range(2):
                at = column * high + line
                if at < len(checks):
                    s.put(s.x(column * 0.5), s.y, checks[at].number)
                    s.put(s.x(column * 0.5 + 0.12), s.y, s.day(checks[at].day, "{Mon} {d}"))
                    s.put(s.x(column * 0.5 + 0.42), s.y, s.num(checks[at].amount), align="r")
            s.gap()
        s.say(
            f"Conventional Checks Paid ({len(checks)})   $ {s.num(_total(checks))}-", is_bold=True
        )
        s.booked(own, checks)
    s.framed(own)


@further_bank("discover", "US", "USD", "en", "card, category column", size=LETTER)
def discover(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random, is_whole_month=False), is_card=True)
    new = own.opening - sum((e.amount for e in own.entries), Decimal(0))
    head(
        s,
        "Discover it Card",
        "Discover Bank, Member FDIC. Minimum interest charge $.50. Late fee up to $41.00.",
        f"Account number ending in {own.number[-4:]}",
        f"Open to Close Date: {s.day(own.start, '{mm}/{dd}/{yyyy}')} - {s.day(own.end, '{mm}/{dd}/{yyyy}')}",
    )
    s.pairs(
        (
            ("Previous Balance", "$" + s.num(own.opening)),
            ("Payments and Credits", "-$" + s.num(own.paid_in)),
            ("Purchases", "+$" + s.num(own.paid_out)),
            ("New Balance", s.signed(new, plus="$", minus="-$")),
            ("Cashback Bonus earned", "$12.40"),
        )
    )
    paid, spent = own.of("in"), own.of("card", "electronic", "fee")
    form = "{mm}/{dd}/{yy}"
    if paid:
        s.gap()
        s.say("Transactions", is_bold=True, size=11)
        s.table(
            [
                Column("date", "TRANS.|DATE", 0.13, "date"),
                Column("text", "|PAYMENTS AND CREDITS", 0.67, "text"),
                Column("amount", "|AMOUNT", 0.2, "amount", "r"),
            ],
            [
                {"date": s.day(e.day, form), "text": e.lines, "amount": "-$" + s.num(e.amount)}
                for e in paid
            ],
        )
        s.booked(own, paid)
    if spent:
        s.gap()
        s.table(
            [
                Column("date", "TRANS.|DATE", 0.13, "date"),
                Column("text", "|PURCHASES", 0.47, "text"),
                Column("category", "MERCHANT|CATEGORY", 0.2),
                Column("amount", "|AMOUNT", 0.2, "amount", "r"),
            ],
            [
                {
                    "date": s.day(e.day, form),
                    "text": e.lines,
                    "category": s.random.choice(
                        ("Restaurants", "Supermarkets", "Merchandise", "Gasoline")
                    ),
                    "amount": "$" + s.num(e.amount),
                }
                for e in spent
            ],
        )
        s.booked(own, spent)
    s.gap()
    s.say(
        f"{own.end.year} Totals Year-to-Date",
        "TOTAL FEES CHARGED IN THIS YEAR   $0.00",
        "TOTAL INTEREST CHARGED IN THIS YEAR   $0.00",
    )


@further_bank("bmo", "CA", "CAD", "en", "long headings, running balance", size=LETTER)
def bmo(s: Sheet) -> None:
    own = account(s.random, "en", "CAD", period(s.random, is_whole_month=False))
    head(
        s,
        "BMO Bank of Montreal",
        "Please report any errors within 30 days. GST No. R100390095",
        "Your Everyday Banking statement",
        f"For the period ending {s.day(own.end, '{Month} {dd}, {yyyy}')}",
        f"Chequing account # 0004 {own.number[:7]}",
    )
    s.pairs(
        (
            (
                f"Opening balance ($) on {s.day(own.start, '{Mon} {d}, {yyyy}')}",
                s.signed(own.opening),
            ),
            ("Total amounts deducted ($)", s.num(own.paid_out)),
            ("Total amounts added ($)", s.num(own.paid_in)),
            (
                f"Closing balance ($) on {s.day(own.end, '{Mon} {d}, {yyyy}')}",
                s.signed(own.closing),
            ),
        ),
        to=0.7,
    )
    s.gap()
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{Mon} {dd}"),
                "text": "Opening balance",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{Mon} {dd}"),
            "text": e.lines,
            **sides(s, e),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    rows.append(
        {
            "date": s.day(own.end, "{Mon} {dd}"),
            "text": "Closing totals",
            "debit": s.num(own.paid_out),
            "credit": s.num(own.paid_in),
        }
    )
    s.table(
        [
            Column("date", "||Date", 0.1, "date"),
            Column("text", "||Description", 0.36, "text"),
            Column("debit", "Amounts deducted|from your|account ($)", 0.19, "debit", "r"),
            Column("credit", "Amounts added|to your|account ($)", 0.18, "credit", "r"),
            Column("balance", "||Balance ($)", 0.17, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@further_bank("natwest", "UK", "GBP", "en", "date once a day, OD behind balances")
def natwest(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random, is_whole_month=False))
    head(
        s,
        "NatWest",
        "National Westminster Bank Plc. Registered in England No. 929027. Overdraft limit £500.00 at 39.49% EAR",
        "Summary",
        f"Statement Date {s.day(own.end, '{dd} {MON} {yyyy}')}",
        f"Period Covered {s.day(own.start, '{dd} {MON} {yyyy}')} to {s.day(own.end, '{dd} {MON} {yyyy}')}",
        f"Account No {own.number[:8]}  Sort Code 60-00-01",
    )
    s.pairs(
        (
            ("Previous Balance", "£" + s.trailing(own.opening, minus="OD")),
            ("Paid Out", "£" + s.num(own.paid_out)),
            ("Paid In", "£" + s.num(own.paid_in)),
            ("New Balance", "£" + s.trailing(own.closing, minus="OD")),
        )
    )
    s.gap()
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{dd} {MON} {yyyy}"),
                "text": "BROUGHT FORWARD",
                "balance": s.trailing(own.opening, minus="OD"),
            }
        ]
        if s.style.has_balances
        else []
    )
    before = None
    for at, e in enumerate(own.entries):
        shown: Cells = {"date": s.day(e.day, "{dd} {MON}")} if e.day != before else {}
        before = e.day
        balance: Cells = (
            {"balance": s.trailing(e.balance, minus="OD")} if own.last_of_day(at) else {}
        )
        rows.append(
            {
                **shown,
                "text": ["Card Transaction" if e.is_debit else "Automated Credit", *e.lines],
                **sides(s, e),
                **balance,
            }
        )
        e.lines = ["Card Transaction" if e.is_debit else "Automated Credit", *e.lines]
    s.table(
        [
            Column("date", "Date", 0.13, "date"),
            Column("text", "Description", 0.42, "text"),
            Column("credit", "Paid In(£)", 0.15, "credit", "r"),
            Column("debit", "Withdrawn(£)", 0.15, "debit", "r"),
            Column("balance", "Balance(£)", 0.15, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@further_bank("starling", "UK", "GBP", "en", "end of day balances as rows, newest last")
def starling(s: Sheet) -> None:
    own = account(s.random, "en", "GBP", period(s.random))
    head(
        s,
        "Starling Bank",
        "Starling Bank Limited, 5th Floor, London Fruit And Wool Exchange. FRN 730166.",
        f"Date range applicable: {s.day(own.start, '{dd}/{mm}/{yyyy}')} - {s.day(own.end, '{dd}/{mm}/{yyyy}')}",
        f"Account Number {own.number[:8]}  Sort Code 60-83-71",
    )
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{dd}/{mm}/{yyyy}"),
                "text": "Opening Balance",
                "balance": s.signed(own.opening, plus="£", minus="-£"),
            }
        ]
        if s.style.has_balances
        else []
    )
    for at, e in enumerate(own.entries):
        rows.append(
            {
                "date": s.day(e.day, "{dd}/{mm}/{yyyy}"),
                "type": "CARD" if e.is_debit else "FASTER PAYMENT",
                "text": e.lines,
                "debit" if e.is_debit else "credit": "£" + s.num(e.amount),
                "balance": s.signed(e.balance, plus="£", minus="-£"),
            }
        )
        if s.style.has_balances and own.last_of_day(at):
            rows.append(
                {
                    "date": s.day(e.day, "{dd}/{mm}/{yyyy}"),
                    "text": "END OF DAY BALANCE",
                    "balance": s.signed(e.balance, plus="£", minus="-£"),
                }
            )
    s.table(
        [
            Column("date", "DATE", 0.13, "date"),
            Column("type", "TYPE", 0.16),
            Column("text", "TRANSACTION", 0.29, "text"),
            Column("credit", "IN", 0.13, "credit", "r"),
            Column("debit", "OUT", 0.13, "debit", "r"),
            Column("balance", "ACCOUNT BALANCE", 0.16, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)

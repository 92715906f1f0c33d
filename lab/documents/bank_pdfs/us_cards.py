"""Statements of credit cards of the United States."""

from datetime import timedelta
from decimal import Decimal

from lab.documents.bank_pdfs.activity import Account, Entry, account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.north_america import LEGAL
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet
from lab.documents.statements.paper import LETTER


def _owed(own: Account) -> Decimal:
    return own.opening - sum((e.amount for e in own.entries), Decimal(0))


def _card_front(s: Sheet, name: str, own: Account, new: Decimal) -> None:
    s.on_page = lambda number: s.footer(LEGAL[0], LEGAL[1].format(number, number + 2))
    s.page()
    s.say(name, is_bold=True, size=14)
    s.say("JANE Q SAMPLE", f"Account ending in {own.number[-4:]}")
    s.say(
        f"Opening/Closing Date  {s.day(own.start, '{mm}/{dd}/{yy}')} - {s.day(own.end, '{mm}/{dd}/{yy}')}"
    )
    s.gap()
    due = s.day(own.end + timedelta(days=25), "{mm}/{dd}/{yy}")
    s.say(f"Payment Due Date {due}", "Minimum Payment Due $40.00", is_bold=True)
    s.say(
        "Late Payment Warning: if we do not receive your minimum payment by the date above, you may pay a late fee of up to $40.00."
    )
    s.gap()
    s.say("ACCOUNT SUMMARY", is_bold=True, size=11)
    s.pairs((
        ("Previous Balance", f"${s.num(own.opening)}"), ("Payments, Credits", f"-${s.num(own.paid_in)}"), ("Purchases", f"+${s.num(own.paid_out)}"),
        ("Fees Charged", "$0.00"), ("New Balance", s.signed(new, plus="$", minus="-$")), ("Credit Access Line", "$18,500"),
    ))  # fmt: skip
    s.gap()


@bank("chase-card", "US", "USD", "en", "card, sections", size=LETTER)
def chase_card(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random, is_whole_month=False), is_card=True)
    _card_front(s, "CHASE SAPPHIRE PREFERRED", own, _owed(own))
    s.say("ACCOUNT ACTIVITY", is_bold=True, size=11)

    def heads() -> list[Column]:
        return [
            Column("date", "Date of|Transaction", 0.14, "date"),
            Column("text", "|Merchant Name or Transaction Description", 0.66, "text"),
            Column("amount", "|$ Amount", 0.2, "amount", "r"),
        ]

    is_first = True
    for title, entries in (
        ("PAYMENTS AND OTHER CREDITS", own.of("in")),
        ("PURCHASE", own.of("card", "electronic")),
        ("FEES CHARGED", own.of("fee")),
    ):
        if entries:
            s.gap(0.5)
            if not is_first:
                s.say(title, is_bold=True)
            rows: list[Cells] = [] if not is_first else [{"text": title}]
            rows += [
                {
                    "date": s.day(e.day, "{mm}/{dd}"),
                    "text": " ".join(e.lines),
                    "amount": s.signed(-e.amount),
                }
                for e in entries
            ]
            s.table(heads(), rows, has_headings=is_first)
            is_first = False
            s.booked(own, entries)
    s.gap()
    s.ensure(6)
    s.say(f"{own.end.year} Totals Year-to-Date", is_bold=True)
    s.say(
        f"Total fees charged in {own.end.year}     $95.00",
        f"Total interest charged in {own.end.year}     $0.00",
    )
    s.gap()
    s.say("INTEREST CHARGES", is_bold=True)
    s.say(
        "Purchases      21.49%(v)(d)      - 0 -      - 0 -",
        "Cash Advances  29.24%(v)(d)      $312.20      - 0 -",
    )


@bank("amex", "US", "USD", "en", "card, several holders", size=LETTER, fixed="swap")
def amex(s: Sheet) -> None:
    own = account(
        s.random, "en", "USD", period(s.random, is_whole_month=False), is_card=True, rows=(10, 40)
    )
    new = _owed(own)
    _card_front(s, "American Express Gold Card", own, new)
    paid, spent = own.of("in"), own.of("card", "electronic", "check", "fee")

    def star(e: Entry) -> str:
        return s.day(e.day, "{mm}/{dd}/{yy}") + ("*" if not e.is_debit else "")

    def heads() -> list[Column]:
        return [
            Column("date", "", 0.14, "date"),
            Column("text", "", 0.66, "text"),
            Column("amount", "Amount", 0.2, "amount", "r"),
        ]

    if paid:
        s.say("Payments and Credits", is_bold=True, size=12)
        s.say("Summary", is_bold=True)
        s.put(s.x(0), s.y, "Payments")
        s.put(s.x(1) - 4, s.y, f"-${s.num(own.paid_in)}", align="r")
        s.gap()
        s.put(s.x(0), s.y, "Total Payments and Credits", is_bold=True)
        s.put(s.x(1) - 4, s.y, f"-${s.num(own.paid_in)}", align="r")
        s.gap(1.5)
        s.say("Detail       *Indicates posting date", is_bold=True)
        s.table(
            heads(),
            [{"date": star(e), "text": e.lines, "amount": f"-${s.num(e.amount)}"} for e in paid],
        )
        s.booked(own, paid)
    s.gap()
    s.ensure(8)
    s.say("New Charges", is_bold=True, size=12)
    s.say("Summary", is_bold=True)
    half = len(spent) // 2 if len(spent) > 3 else len(spent)
    holders = (
        ("JANE Q SAMPLE", "1-23005", spent[:half]),
        ("JOHN T SAMPLE", "1-23013", spent[half:]),
    )
    for name, number, part in holders:
        if part:
            s.put(s.x(0), s.y, f"{name} {number}")
            s.put(
                s.x(1) - 4, s.y, f"${s.num(sum((e.amount for e in part), Decimal(0)))}", align="r"
            )
            s.gap()
    s.put(s.x(0), s.y, "Total New Charges", is_bold=True)
    s.put(s.x(1) - 4, s.y, f"${s.num(own.paid_out)}", align="r")
    s.gap(1.5)
    s.say("Detail", is_bold=True)
    for name, number, part in holders:
        if part:
            s.ensure(5)
            s.say(name, f"Card Ending {number}", is_bold=True)
            s.table(
                heads(),
                [{"date": star(e), "text": e.lines, "amount": f"${s.num(e.amount)}"} for e in part],
            )
            s.booked(own, part)
            s.gap(0.5)
    s.say("Fees", is_bold=True, size=12)
    s.say("Total Fees for this Period     $0.00")


@bank("capital-one", "US", "USD", "en", "card, several holders", size=LETTER)
def capital_one(s: Sheet) -> None:
    own = account(
        s.random, "en", "USD", period(s.random, is_whole_month=False), is_card=True, rows=(10, 40)
    )
    _card_front(s, "Capital One Quicksilver", own, _owed(own))
    s.say("Transactions", is_bold=True, size=12)
    s.say("Visit www.capitalone.com to see detailed transactions.")
    paid, spent = own.of("in"), own.of("card", "electronic", "check", "fee")

    def heads() -> list[Column]:
        return [
            Column("bought", "Trans Date", 0.13),
            Column("date", "Post Date", 0.13, "date"),
            Column("text", "Description", 0.54, "text"),
            Column("amount", "Amount", 0.2, "amount", "r"),
        ]

    def row(e: Entry) -> Cells:
        return {
            "bought": s.day(e.day - timedelta(days=e.day.day % 3), "{Mon} {d}"),
            "date": s.day(e.day, "{Mon} {d}"),
            "text": " ".join(e.lines),
            "amount": s.signed(-e.amount, plus="$", minus="- $"),
        }

    half = len(spent) // 3 * 2
    for title, part in (
        ("JANE Q SAMPLE #4411: Payments, Credits and Adjustments", paid), ("JANE Q SAMPLE #4411: Transactions", spent[:half]), ("JOHN SAMPLE #8720: Transactions", spent[half:]),
    ):  # fmt: skip
        if part:
            s.gap()
            s.ensure(5)
            s.say(title, is_bold=True)
            s.table(heads(), [row(e) for e in part])
            s.booked(own, part)
            if "Transactions" in title:
                s.say(
                    f"{title.partition(':')[0]}: Total Transactions   ${s.num(sum((e.amount for e in part), Decimal(0)))}",
                    is_bold=True,
                )
    s.gap()
    s.say(f"Total Transactions for This Period   ${s.num(own.paid_out)}", is_bold=True)


@bank("apple-card", "US", "USD", "en", "card, rewards column", size=LETTER)
def apple_card(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random), is_card=True)
    new = _owed(own)
    s.on_page = lambda number: s.footer(
        "Apple Card is issued by Goldman Sachs Bank USA, Salt Lake City Branch.", f"Page {number}"
    )
    s.page()
    s.say("Apple Card Customer", is_bold=True, size=13)
    s.say(
        "Jane Sample, jane@example.com",
        f"{s.day(own.start, '{Mon} {d}')} — {s.day(own.end, '{Mon} {d}, {yyyy}')}",
    )
    s.pairs(
        (
            ("Previous Monthly Balance", f"${s.num(own.opening)}"),
            (
                f"Your {s.day(own.end, '{Month}')} Balance as of {s.day(own.end, '{Mon} {d}, {yyyy}')}",
                s.signed(new, plus="$", minus="-$"),
            ),
        ),
        to=0.75,
    )
    s.gap()
    paid, spent = own.of("in"), own.of("card", "electronic", "check", "fee")
    s.say("Payments", is_bold=True, size=11)
    s.table([Column("date", "Date", 0.15, "date"), Column("text", "Description", 0.6, "text"), Column("amount", "Amount", 0.25, "amount", "r")],
            [{"date": s.day(e.day, "{mm}/{dd}/{yyyy}"), "text": e.lines, "amount": f"-${s.num(e.amount)}"} for e in paid])  # fmt: skip
    s.say(f"Total payments for this period    -${s.num(own.paid_in)}", is_bold=True)
    s.booked(own, paid)
    s.gap()
    s.ensure(5)
    s.say("Transactions", is_bold=True, size=11)

    def cash(e: Entry) -> Decimal:
        return (abs(e.amount) * 2 / 100).quantize(Decimal("0.01"))

    s.table(
        [Column("date", "Date", 0.14, "date"), Column("text", "Description", 0.46, "text"), Column("percent", "Daily Cash", 0.08, "spare", "r"), Column("cash", "", 0.12, "spare", "r"), Column("amount", "Amount", 0.2, "amount", "r")],
        [{"date": s.day(e.day, "{mm}/{dd}/{yyyy}"), "text": e.lines, "percent": "2%", "cash": f"${s.num(cash(e))}", "amount": f"${s.num(e.amount)}"} for e in spent],
    )  # fmt: skip
    s.booked(own, spent)
    s.say(
        f"Total Daily Cash this month    ${s.num(sum((cash(e) for e in spent), Decimal(0)))}",
        f"Total charges, credits and returns    ${s.num(own.paid_out)}",
        is_bold=True,
    )

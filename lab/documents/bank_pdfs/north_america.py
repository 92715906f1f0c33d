"""Statements of the United States, Canada and Mexico."""

from collections.abc import Sequence
from decimal import Decimal

from lab.documents.bank_pdfs.activity import Account, Entry, account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet
from lab.documents.statements.paper import LETTER

LEGAL = (
    "In case of errors or questions about your electronic transfers call us within 60 days. Fees over $35.00 a day are capped.",
    "Member FDIC. Deposits insured up to $250,000.00. Rates as of 01/15/2026 and subject to change. Page {}",
)


def _letter(s: Sheet, name: str, own: Account, form: str = "{Month} {dd}, {yyyy}") -> None:
    """The first page's head: bank, address, period and account."""
    s.on_page = lambda number: s.footer(LEGAL[0], LEGAL[1].format(number, number + 1))
    s.page()
    s.say(name, is_bold=True, size=14)
    s.say("P O Box 15284, Wilmington, DE 19850")
    s.put(s.x(0.62), s.y, f"{s.day(own.start, form)} through {s.day(own.end, form)}", is_bold=True)
    s.gap()
    s.put(s.x(0.62), s.y, f"Account Number: {own.number[:3]} {own.number[3:]}")
    s.gap(2)
    s.say("JANE Q SAMPLE", "1200 N MARKET ST APT 4", "SPRINGFIELD IL 62701-1234")
    s.gap(2)


def _section(
    s: Sheet,
    title: str,
    entries: Sequence[Entry],
    columns: list[Column],
    form: str,
    *,
    sign: str = "",
) -> None:
    """One kind of movement with its total: amounts without a sign unless one is given."""
    if not entries:
        return
    s.gap()
    s.ensure(5)
    s.say(title, is_bold=True, size=10)
    rows: list[Cells] = []
    for at, each in enumerate(entries):
        dollar = "$" if at == 0 else ""
        rows.append(
            {
                "date": s.day(each.day, form),
                "text": each.lines,
                "amount": f"{sign}{dollar}{s.num(each.amount)}",
            }
        )
    s.table(columns, rows)
    total = sum((abs(each.amount) for each in entries), Decimal(0))
    s.ensure(1)
    s.put(s.x(0), s.y, f"Total {title}", is_bold=True)
    s.put(s.x(1) - 4, s.y, f"{sign}${s.num(total)}", is_bold=True, align="r")
    s.gap(1.5)


def _usual() -> list[Column]:
    return [
        Column("date", "DATE", 0.12, "date"),
        Column("text", "DESCRIPTION", 0.7, "text"),
        Column("amount", "AMOUNT", 0.18, "amount", "r"),
    ]


@bank("chase-checking", "US", "USD", "en", "running balance", size=LETTER)
def chase_checking(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random, is_whole_month=False))
    _letter(s, "CHASE", own)
    s.say("CHECKING SUMMARY", is_bold=True, size=11)
    s.say("Chase Total Checking")
    s.pairs((
        ("Beginning Balance", "$" + s.num(own.opening) if own.opening >= 0 else "-$" + s.num(own.opening)), ("Deposits and Additions", s.num(own.paid_in)),
        ("Electronic Withdrawals", "-" + s.num(own.paid_out)), ("Ending Balance", s.signed(own.closing, plus="$", minus="-$")),
    ))  # fmt: skip
    s.gap()
    s.say("TRANSACTION DETAIL", is_bold=True, size=11)
    rows: list[Cells] = []
    if s.style.has_balances:
        rows.append(
            {"text": "Beginning Balance", "balance": s.signed(own.opening, plus="$", minus="-$")}
        )
    rows += [
        {
            "date": s.day(e.day, "{mm}/{dd}"),
            "text": e.lines,
            "amount": s.signed(e.amount),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {"text": "Ending Balance", "balance": s.signed(own.closing, plus="$", minus="-$")}
        )
    s.table([
        Column("date", "DATE", 0.1, "date"), Column("text", "DESCRIPTION", 0.54, "text"), Column("amount", "AMOUNT", 0.18, "amount", "r"),
        Column("balance", "BALANCE", 0.18, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)
    s.gap()
    s.say(
        "A monthly service fee of $12.00 was not charged because you kept $1,500.00 or more on each day."
    )


@bank("chase-business", "US", "USD", "en", "sections", size=LETTER)
def chase_business(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random), checks=2)
    _letter(s, "CHASE", own)
    s.say("CHECKING SUMMARY", is_bold=True, size=11)
    s.put(s.x(0.45), s.y, "INSTANCES", is_bold=True)
    s.put(s.x(0.8), s.y, "AMOUNT", is_bold=True, align="r")
    s.gap()
    s.pairs((
        ("Beginning Balance", s.signed(own.opening, plus="$", minus="-$")), ("Deposits and Additions      " + str(len(own.of("in"))), s.num(own.paid_in)),
        ("Withdrawals", "-" + s.num(own.paid_out)), ("Ending Balance      " + str(len(own.entries)), s.signed(own.closing, plus="$", minus="-$")),
    ), to=0.8)  # fmt: skip
    _section(s, "DEPOSITS AND ADDITIONS", own.of("in"), _usual(), "{mm}/{dd}")
    checks = own.of("check")
    if checks:
        s.gap()
        s.say("CHECKS PAID", is_bold=True, size=10)
        s.table(
            [Column("number", "CHECK NO.", 0.2), Column("text", "DESCRIPTION", 0.3, "text"), Column("date", "DATE|PAID", 0.3, "date"), Column("amount", "AMOUNT", 0.2, "amount", "r")],
            [{"number": f"{e.number} ^", "date": s.day(e.day, "{mm}/{dd}"), "amount": ("$" if not at else "") + s.num(e.amount)} for at, e in enumerate(checks)],
        )  # fmt: skip
        s.say(
            f"Total Checks Paid   ${s.num(sum((e.amount for e in checks), Decimal(0)))}",
            is_bold=True,
        )
        s.say(
            "* All of your recent checks may not be on this statement. ^ An image of this check may be available."
        )
    _section(s, "ATM & DEBIT CARD WITHDRAWALS", own.of("card"), _usual(), "{mm}/{dd}")
    _section(s, "ELECTRONIC WITHDRAWALS", own.of("electronic"), _usual(), "{mm}/{dd}")
    _section(s, "FEES", own.of("fee"), _usual(), "{mm}/{dd}")
    if s.style.has_balances:
        s.gap()
        s.say("DAILY ENDING BALANCE", is_bold=True, size=10)
        _daily(s, own, 2, "{mm}/{dd}")
    for entries in (own.of("in"), checks, own.of("card"), own.of("electronic"), own.of("fee")):
        s.booked(own, entries)
    s.framed(own)


def _daily(s: Sheet, own: Account, across: int, form: str) -> None:
    """Balances of days, side by side."""
    days = [e for at, e in enumerate(own.entries) if own.last_of_day(at)]
    high = -(-len(days) // across)
    for column in range(across):
        s.put(s.x(column / across), s.y, "DATE", is_bold=True)
        s.put(s.x(column / across + 0.25), s.y, "AMOUNT", is_bold=True, align="r")
    s.gap()
    for line in range(high):
        s.ensure(1)
        for column in range(across):
            at = column * high + line
            if at < len(days):
                s.put(s.x(column / across), s.y, s.day(days[at].day, form))
                s.put(s.x(column / across + 0.25), s.y, s.signed(days[at].balance), align="r")
        s.gap()


def _side_by_side(
    s: Sheet,
    checks: Sequence[Entry],
    across: int,
    form: str,
    *,
    sign: str = "",
    heads: tuple[str, str, str] = ("Date", "Check #", "Amount"),
) -> None:
    """Checks in columns that are read downwards, one beside the other."""
    high = -(-len(checks) // across)
    s.ensure(min(high, 8) + 2)
    wide = 1 / across
    for column in range(min(across, len(checks))):
        s.put(s.x(column * wide), s.y, heads[0], is_bold=True)
        s.put(s.x(column * wide + 0.12), s.y, heads[1], is_bold=True)
        s.put(s.x(column * wide + wide - 0.05), s.y, heads[2], is_bold=True, align="r")
    s.gap()
    for line in range(high):
        s.ensure(1)
        for column in range(across):
            at = column * high + line
            if at < len(checks):
                s.put(s.x(column * wide), s.y, s.day(checks[at].day, form))
                s.put(s.x(column * wide + 0.12), s.y, checks[at].number)
                s.put(
                    s.x(column * wide + wide - 0.05),
                    s.y,
                    sign + s.num(checks[at].amount),
                    align="r",
                )
        s.gap()


@bank(
    "bank-of-america", "US", "USD", "en", "sections, checks side by side", size=LETTER, fixed="swap"
)
def bank_of_america(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random, is_whole_month=False), checks=2)
    _letter(s, "BANK OF AMERICA", own)
    s.say("Account summary", is_bold=True, size=11)
    s.pairs((
        (f"Beginning balance on {s.day(own.start, '{Month} {d}, {yyyy}')}", s.signed(own.opening, plus="$", minus="-$")),
        ("Deposits and other additions", s.num(own.paid_in)), ("Withdrawals and other subtractions", "-" + s.num(own.paid_out)),
        (f"Ending balance on {s.day(own.end, '{Month} {d}, {yyyy}')}", s.signed(own.closing, plus="$", minus="-$")),
    ), to=0.6)  # fmt: skip
    form = "{mm}/{dd}/{yy}"
    _section(s, "deposits and other additions", own.of("in"), _cased(), form)
    _section(
        s,
        "withdrawals and other subtractions",
        own.of("card", "electronic"),
        _cased(),
        form,
        sign="-",
    )
    checks = own.of("check")
    if checks:
        s.gap()
        s.say("Checks", is_bold=True, size=10)
        _side_by_side(s, checks, 2, form, sign="-")
        s.say(
            f"Total checks   -${s.num(sum((e.amount for e in checks), Decimal(0)))}", is_bold=True
        )
    _section(s, "service fees", own.of("fee"), _cased(), form, sign="-")
    if s.style.has_balances:
        s.gap()
        s.say("Daily ledger balances", is_bold=True, size=10)
        _daily(s, own, 3, "{mm}/{dd}")
    for entries in (own.of("in"), own.of("card", "electronic"), checks, own.of("fee")):
        s.booked(own, entries)
    s.framed(own)


def _cased() -> list[Column]:
    return [
        Column("date", "Date", 0.12, "date"),
        Column("text", "Description", 0.7, "text"),
        Column("amount", "Amount", 0.18, "amount", "r"),
    ]


@bank("wells-fargo", "US", "USD", "en", "debit and credit, balance once a day", size=LETTER)
def wells_fargo(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random), checks=1)
    _letter(s, "WELLS FARGO", own, "{Month} {d}, {yyyy}")
    s.say("Wells Fargo Everyday Checking", is_bold=True, size=12)
    s.say("Statement period activity summary", is_bold=True)
    s.pairs((
        (f"Beginning balance on {s.day(own.start, '{m}/{d}')}", s.signed(own.opening, plus="$", minus="-$")), ("Deposits/Additions", s.num(own.paid_in)),
        ("Withdrawals/Subtractions", "- " + s.num(own.paid_out)), (f"Ending balance on {s.day(own.end, '{m}/{d}')}", s.signed(own.closing, plus="$", minus="-$")),
    ))  # fmt: skip
    s.gap()
    s.say("Transaction history", is_bold=True, size=11)
    rows: list[Cells] = []
    for at, e in enumerate(own.entries):
        amount = {"debit" if e.is_debit else "credit": s.num(e.amount)}
        balance = {"balance": s.signed(e.balance)} if own.last_of_day(at) else {}
        text = ["Check"] if e.number else e.lines
        rows.append(
            {"date": s.day(e.day, "{m}/{d}"), "number": e.number, "text": text, **amount, **balance}
        )
        if e.number:
            e.lines = ["Check"]
    s.table([
        Column("date", "|Date", 0.08, "date"), Column("number", "Check|Number", 0.09), Column("text", "|Description", 0.41, "text"),
        Column("credit", "Deposits/|Additions", 0.14, "credit", "r"), Column("debit", "Withdrawals/|Subtractions", 0.14, "debit", "r"),
        Column("balance", "Ending daily|balance", 0.14, "balance", "r"),
    ], rows)  # fmt: skip
    if s.style.has_balances:
        s.put(s.x(0), s.y, f"Ending balance on {s.day(own.end, '{m}/{d}')}", is_bold=True)
        s.put(s.x(1) - 4, s.y, s.signed(own.closing), is_bold=True, align="r")
        s.gap()
    s.put(s.x(0), s.y, "Totals", is_bold=True)
    s.put(s.x(0.72) - 4, s.y, f"${s.num(own.paid_in)}", is_bold=True, align="r")
    s.put(s.x(0.86) - 4, s.y, f"${s.num(own.paid_out)}", is_bold=True, align="r")
    s.gap(2)
    s.say(
        "The Ending Daily Balance does not reflect any pending withdrawals or holds on deposited funds."
    )
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@bank("pnc", "US", "USD", "en", "sections, checks side by side", size=LETTER, fixed="swap")
def pnc(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random, is_whole_month=False), checks=3)
    _letter(s, "PNC BANK", own, "{mm}/{dd}/{yyyy}")
    s.say("Balance Summary", is_bold=True, size=11)
    if s.style.has_balances:
        for at, (label, value) in enumerate((
            ("Beginning|balance", s.signed(own.opening)), ("Deposits and|other additions", s.num(own.paid_in)),
            ("Checks and other|deductions", s.num(own.paid_out)), ("Ending|balance", s.signed(own.closing)),
        )):  # fmt: skip
            for line, part in enumerate(label.split("|")):
                s.put(s.x(0.22 + at * 0.24), s.y + line * s.style.leading, part, align="r")
            s.put(
                s.x(0.22 + at * 0.24), s.y + 2.2 * s.style.leading, value, align="r", is_bold=True
            )
        s.gap(4)
    form = "{mm}/{dd}"

    def columns() -> list[Column]:
        return [
            Column("date", "Date", 0.1, "date"),
            Column("amount", "Amount", 0.16, "amount", "r"),
            Column("gap", "", 0.04),
            Column("text", "Description", 0.7, "text"),
        ]

    _amount_first(s, "Deposits and Other Additions", own.of("in"), columns(), form)
    checks = own.of("check")
    if checks:
        s.gap()
        s.say("Checks and Substitute Checks", is_bold=True, size=10)
        _side_by_side(s, checks, 3, form, heads=("Date paid", "Check", "Amount"))
    _amount_first(
        s, "Banking/Debit Card Withdrawals and Purchases", own.of("card"), columns(), form
    )
    _amount_first(
        s, "Online and Electronic Banking Deductions", own.of("electronic"), columns(), form
    )
    _amount_first(s, "Other Deductions", own.of("fee"), columns(), form)
    if s.style.has_balances:
        s.gap()
        s.say("Daily Balance Detail", is_bold=True, size=10)
        _daily(s, own, 3, form)
    for entries in (own.of("in"), checks, own.of("card"), own.of("electronic"), own.of("fee")):
        s.booked(own, entries)
    s.framed(own)


def _amount_first(
    s: Sheet, title: str, entries: Sequence[Entry], columns: list[Column], form: str
) -> None:
    if not entries:
        return
    s.gap()
    s.ensure(5)
    s.say(title, is_bold=True, size=10)
    total = sum((abs(e.amount) for e in entries), Decimal(0))
    s.say(f"There were {len(entries)} transactions totaling ${s.num(total)}.")
    s.table(
        columns,
        [{"date": s.day(e.day, form), "text": e.lines, "amount": s.num(e.amount)} for e in entries],
    )


@bank("schwab", "US", "USD", "en", "brokerage cash", size=(792.0, 612.0))
def schwab(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random), rows=(5, 18))
    _letter(s, "Schwab One Account", own)
    s.pairs(
        (
            ("Beginning Cash", s.signed(own.opening, plus="$", minus="-$")),
            ("Ending Cash", s.signed(own.closing, plus="$", minus="-$")),
        )
    )
    s.gap()
    s.say("Positions - Equities", is_bold=True, size=11)
    s.table(
        [Column("symbol", "Symbol", 0.12), Column("name", "Description", 0.4, "text"), Column("q", "Quantity", 0.16, "spare", "r"), Column("p", "Price($)", 0.16, "spare", "r"), Column("v", "Market Value($)", 0.16, "spare", "r")],
        [{"symbol": "SWPPX", "name": "SCHWAB S&P 500 INDEX", "q": "112.0400", "p": "83.21000", "v": "9,322.85"}, {"symbol": "VTI", "name": "VANGUARD TOTAL STOCK MARKET", "q": "20.0000", "p": "301.44000", "v": "6,028.80"}],
    )  # fmt: skip
    s.gap()
    s.say("Transaction Details", is_bold=True, size=11)
    rows: list[Cells] = []
    for e in own.entries:
        is_trade = s.random.random() < 0.3
        rows.append({
            "date": s.day(e.day, "{mm}/{dd}"), "category": ("Purchase" if e.is_debit else "Sale") if is_trade else ("Withdrawal" if e.is_debit else "Deposit"),
            "symbol": "VTI" if is_trade else "", "text": e.lines, "q": "3.0000" if is_trade else "", "p": "301.4400" if is_trade else "",
            "amount": s.brackets(e.amount),
        })  # fmt: skip
    s.table([
        Column("date", "Date", 0.08, "date"), Column("category", "Category", 0.12), Column("symbol", "Symbol/|CUSIP", 0.09), Column("text", "Description", 0.34, "text"),
        Column("q", "Quantity", 0.11, "spare", "r"), Column("p", "Price/Rate|per Share($)", 0.12, "spare", "r"), Column("amount", "Amount($)", 0.14, "amount", "r"),
    ], rows)  # fmt: skip
    s.say(f"Total Transactions     {s.brackets(own.closing - own.opening)}", is_bold=True)
    s.booked(own, own.entries)
    s.framed(own)


@bank("rbc", "CA", "CAD", "en", "date once a day, balance once a day", size=LETTER)
def rbc(s: Sheet) -> None:
    own = account(s.random, "en", "CAD", period(s.random, is_whole_month=False))
    s.on_page = lambda number: s.footer(
        "Royal Bank of Canada GST Registration Number: R105248165",
        f"RBPDA10020_{own.number}   {number} of 2",
    )
    s.page()
    s.say("Royal Bank of Canada", is_bold=True, size=13)
    s.say(
        f"From {s.day(own.start, '{Month} {d}, {yyyy}')} to {s.day(own.end, '{Month} {d}, {yyyy}')}",
        f"Your account number: {own.number}",
    )
    s.gap()
    s.pairs((
        (f"Your opening balance on {s.day(own.start, '{Month} {d}, {yyyy}')}", s.signed(own.opening, plus="$", minus="-$")), ("Total deposits into your account", "+ " + s.num(own.paid_in)),
        ("Total withdrawals from your account", "- " + s.num(own.paid_out)), (f"Your closing balance on {s.day(own.end, '{Month} {d}, {yyyy}')}", "= " + s.signed(own.closing, plus="$", minus="-$")),
    ), to=0.7)  # fmt: skip
    s.gap()
    s.say("Details of your account activity", is_bold=True, size=11)
    rows: list[Cells] = (
        [{"text": "Opening Balance", "balance": s.signed(own.opening)}]
        if s.style.has_balances
        else []
    )
    before = None
    for at, e in enumerate(own.entries):
        shown = {"date": s.day(e.day, "{dd} {Mon}")} if e.day != before else {}
        balance = {"balance": s.signed(e.balance)} if own.last_of_day(at) else {}
        rows.append(
            {
                **shown,
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **balance,
            }
        )
        before = e.day
    if s.style.has_balances:
        rows.append(
            {"text": "Closing Balance", "balance": s.signed(own.closing, plus="$", minus="-$")}
        )
    s.table([
        Column("date", "Date", 0.1, "date"), Column("text", "Description", 0.42, "text"), Column("debit", "Withdrawals ($)", 0.16, "debit", "r"),
        Column("credit", "Deposits ($)", 0.16, "credit", "r"), Column("balance", "Balance ($)", 0.16, "balance", "r"),
    ], rows, is_continued=True)  # fmt: skip
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@bank("td-canada", "CA", "CAD", "en", "date column in the middle", size=LETTER)
def td(s: Sheet) -> None:
    own = account(s.random, "en", "CAD", period(s.random), rows=(8, 40))
    s.on_page = lambda number: s.footer(
        "Please ensure you review your statement within 30 days of its date.", f"Page {number}"
    )
    s.page()
    s.say("TD Canada Trust", is_bold=True, size=13)
    s.say(
        f"Statement From - To    {s.day(own.start, '{MON} {dd}/{yy}')} - {s.day(own.end, '{MON} {dd}/{yy}')}",
        f"Account No. {own.number[:7]}",
    )
    s.gap()
    rows: list[Cells] = (
        [
            {
                "text": "STARTING BALANCE",
                "date": s.day(own.start, "{MON}{dd}"),
                "balance": s.trailing(own.opening, minus="OD"),
            }
        ]
        if s.style.has_balances
        else []
    )
    for at, e in enumerate(own.entries):
        balance = {"balance": s.trailing(e.balance, minus="OD")} if own.last_of_day(at) else {}
        rows.append(
            {
                "date": s.day(e.day, "{MON}{dd}"),
                "text": " ".join(e.lines).upper(),
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **balance,
            }
        )
        e.lines = [line.upper() for line in e.lines]
    s.table([
        Column("text", "Description", 0.4, "text"), Column("debit", "Withdrawals", 0.16, "debit", "r"), Column("credit", "Deposits", 0.16, "credit", "r"),
        Column("date", "  Date", 0.1, "date", "r"), Column("balance", "Balance", 0.18, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="day")
    if s.style.has_balances:
        s.balances.append(
            {"account": own.number, "opening": str(own.opening), "closing": str(own.closing)}
        )


@bank("bbva-mexico", "MX", "MXN", "es", "two balance columns, two dates")
def bbva_mexico(s: Sheet) -> None:
    own = account(s.random, "es", "MXN", period(s.random), scale=10)
    s.on_page = lambda number: s.footer(
        "BBVA MEXICO, S.A., INSTITUCION DE BANCA MULTIPLE. Av. Paseo de la Reforma 510, C.P. 06600",
        f"PAGINA {number} / 3  R.F.C. BBA830831LJ2",
    )
    s.page()
    s.say("Estado de Cuenta", "LIBRETON BASICO CUENTA DIGITAL", is_bold=True, size=11)
    s.say(
        f"Periodo DEL {s.day(own.start, '{dd}/{mm}/{yyyy}')} AL {s.day(own.end, '{dd}/{mm}/{yyyy}')}",
        f"Fecha de Corte {s.day(own.end, '{dd}/{mm}/{yyyy}')}",
        f"No. de Cuenta {own.number}",
    )
    s.gap()
    s.say("Comportamiento", is_bold=True)
    s.pairs((
        ("Saldo Anterior", s.signed(own.opening)), (f"Depósitos / Abonos (+)   {len(own.of('in'))}", s.num(own.paid_in)),
        ("Retiros / Cargos (-)", s.num(own.paid_out)), ("Saldo Final", s.signed(own.closing)), ("Saldo Promedio Mínimo Mensual", "0.00"),
    ))  # fmt: skip
    s.gap()
    s.say("Detalle de Movimientos Realizados", is_bold=True, size=10)
    rows: list[Cells] = []
    for at, e in enumerate(own.entries):
        both = (
            {"balance": s.signed(e.balance), "second": s.signed(e.balance)}
            if own.last_of_day(at)
            else {}
        )
        rows.append(
            {
                "date": s.day(e.day, "{dd}/{MON}"),
                "value": s.day(e.value_day, "{dd}/{MON}"),
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                **both,
            }
        )
    s.table([
        Column("date", "FECHA|OPER", 0.09, "date"), Column("value", "|LIQ", 0.09), Column("text", "|COD. DESCRIPCIÓN", 0.32, "text"), Column("debit", "|CARGOS", 0.12, "debit", "r"),
        Column("credit", "|ABONOS", 0.12, "credit", "r"), Column("balance", "SALDO|OPERACIÓN", 0.13, "balance", "r"), Column("second", "|LIQUIDACIÓN", 0.13, "balance", "r"),
    ], rows)  # fmt: skip
    s.gap()
    s.say(
        f"TOTAL IMPORTE CARGOS   {s.num(own.paid_out)}   TOTAL MOVIMIENTOS CARGOS   {len(own.entries) - len(own.of('in'))}",
        f"TOTAL IMPORTE ABONOS   {s.num(own.paid_in)}",
    )
    s.booked(own, own.entries, balances="day")
    s.framed(own)

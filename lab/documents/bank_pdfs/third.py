"""A third set of layouts, by another author who had not read the reader: what is unusual in each is its family."""

from decimal import Decimal

from lab.documents.bank_pdfs.activity import Entry, account, period
from lab.documents.bank_pdfs.further import head, sides
from lab.documents.bank_pdfs.layouts import third_bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet
from lab.documents.statements.paper import LETTER


def _sum(entries: list[Entry]) -> Decimal:
    return sum((abs(e.amount) for e in entries), Decimal("0.00"))


def _grid(s: Sheet, entries: list[Entry], across: int, form: str) -> None:
    """Checks side by side: number, amount, date paid; read down each column."""
    wide, high = 1 / across, -(-len(entries) // across)
    s.ensure(high + 2)
    for column in range(min(across, len(entries))):
        for text, at in (("Check no.", 0.0), ("Date", 0.25 * wide)):
            s.put(s.x(column * wide + at), s.y, text, is_bold=True)
        s.put(s.x(column * wide + 0.85 * wide), s.y, "Amount", is_bold=True, align="r")
    s.gap()
    for line in range(high):
        for column in range(across):
            at = column * high + line
            if at < len(entries):
                e = entries[at]
                s.put(s.x(column * wide), s.y, e.number)
                s.put(s.x(column * wide + 0.25 * wide), s.y, s.day(e.day, form))
                s.put(s.x(column * wide + 0.85 * wide), s.y, s.num(e.amount), align="r")
        s.gap()


@third_bank(
    "regions", "US", "USD", "en", "sections, checks side by side", size=LETTER, fixed="swap"
)
def regions(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random), checks=3)
    head(s, "Regions Bank", "Easy Steps to Balance Your Account. Member FDIC.", "LIFEGREEN CHECKING", f"ACCOUNT # {own.number}",
         f"{s.day(own.start, '{Month} {d}, {yyyy}')} through {s.day(own.end, '{Month} {d}, {yyyy}')}")  # fmt: skip
    ins, checks, fees = own.of("in"), own.of("check"), own.of("fee")
    outs = own.of("card", "electronic")
    s.pairs([("Beginning Balance", "$" + s.signed(own.opening)), ("Deposits & Credits", s.num(_sum(ins)) + " +"), ("Withdrawals", s.num(_sum(outs)) + " -"),
             ("Fees", s.num(_sum(fees)) + " -"), ("Checks", s.num(_sum(checks)) + " -"), ("Ending Balance", "$" + s.signed(own.closing))])  # fmt: skip
    for title, entries in (("DEPOSITS & CREDITS", ins), ("WITHDRAWALS", outs), ("FEES", fees)):
        if entries:
            s.gap(0.5)
            s.say(title, is_bold=True)
            s.table([Column("date", "", 0.12, "date"), Column("text", "", 0.66, "text"), Column("amount", "", 0.2, "amount", "r")],
                    [{"date": s.day(e.day, "{mm}/{dd}"), "text": e.lines, "amount": s.num(e.amount)} for e in entries], has_headings=False)  # fmt: skip
            s.say(f"Total {title.title()}   ${s.num(_sum(entries))}", at=0.5)
    if checks:
        s.gap(0.5)
        s.say("CHECKS", is_bold=True)
        _grid(s, checks, 2, "{mm}/{dd}")
        s.say(f"Total Checks   ${s.num(_sum(checks))}", at=0.5)
    for entries in (ins, outs, fees, checks):
        s.booked(own, entries)
    s.framed(own)


@third_bank("card-holders-ie", "IE", "EUR", "en", "card, several holders, CR suffix")
def card_holders(s: Sheet) -> None:
    own = account(
        s.random, "en", "EUR", period(s.random, is_whole_month=False), is_card=True, rows=(10, 34)
    )
    owed = own.opening - sum((e.amount for e in own.entries), Decimal(0))
    head(s, "Business Visa Card", "Regulated by the Central Bank of Ireland.", f"Statement date {s.day(own.end, '{dd} {Month} {yyyy}')}",
         "Company account ending 7788", "Currency EUR")  # fmt: skip
    s.pairs([("Previous balance", s.num(own.opening)), ("Payments and refunds", s.num(own.paid_in) + " CR"), ("New transactions", s.num(own.paid_out)),
             ("New balance", s.num(owed) + ("" if owed >= 0 else " CR"))])  # fmt: skip
    s.gap()
    half = len(own.entries) // 2
    for holder, entries in (
        ("MS ANNA BERG  **** 1234", own.entries[:half]),
        ("MR M ROSSI  **** 9876", own.entries[half:]),
    ):
        if not entries:
            continue
        s.say(holder, is_bold=True)
        s.table([Column("bought", "Transaction|date", 0.13), Column("date", "Posting|date", 0.13, "date"), Column("text", "|Details", 0.5, "text"), Column("amount", "Amount|in euro", 0.2, "amount", "r")],
                [{"bought": s.day(e.day - (e.value_day - e.day), "{dd} {Mon}"), "date": s.day(e.day, "{dd} {Mon}"), "text": e.lines, "amount": s.num(e.amount) + ("" if e.is_debit else " CR")} for e in entries])  # fmt: skip
        spent = -sum((e.amount for e in entries), Decimal(0))
        s.say(
            f"Subtotal {holder.split('  ')[0]}   {s.num(spent)}{'' if spent >= 0 else ' CR'}",
            at=0.4,
        )
        s.gap(0.5)
    s.booked(own, own.entries)


@third_bank("icici-mark", "IN", "INR", "en", "mark column, two-line headings")
def icici_mark(s: Sheet) -> None:
    own = account(s.random, "en", "INR", period(s.random), scale=10)
    head(s, "ICICI Bank", "This is a system-generated statement.", f"Statement of Transactions in Savings Account Number: {own.number} in INR",
         f"for the period {s.day(own.start, '{Month} {dd}, {yyyy}')} - {s.day(own.end, '{Month} {dd}, {yyyy}')}")  # fmt: skip
    if s.style.has_balances:
        s.say(f"Opening balance INR {s.signed(own.opening)}")
    s.table([Column("no", "S|No.", 0.06), Column("date", "Transaction|Date", 0.12, "date"), Column("cheque", "Cheque|Number", 0.1), Column("text", "Transaction|Remarks", 0.34, "text"),
             Column("amount", "Amount|(INR)", 0.15, "amount", "r"), Column("mark", " CR/|DR", 0.06), Column("balance", "Balance|(INR)", 0.17, "balance", "r")],
            [{"no": str(at), "date": s.day(e.day, "{dd}.{mm}.{yyyy}"), "cheque": "-", "text": e.lines, "amount": s.num(e.amount), "mark": " DR" if e.is_debit else " CR", "balance": s.signed(e.balance)}
             for at, e in enumerate(own.entries, 1)])  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "garanti-left",
    "TR",
    "TRY",
    "tr",
    "balance before amount",
    thousands=".",
    point=",",
    fixed="separator",
)
def garanti_left(s: Sheet) -> None:
    own = account(s.random, "tr", "TRY", period(s.random), scale=10)
    head(
        s,
        "Garanti BBVA",
        "T. Garanti Bankası A.Ş. Levent, İstanbul",
        "HESAP EKSTRESİ",
        f"Hesap No 123-{own.number[:7]}",
        f"Dönem {s.day(own.start, '{dd}.{mm}.{yyyy}')} - {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
    )
    if s.style.has_balances:
        s.say(f"Devir bakiyesi: {s.signed(own.opening)} TL")
    s.table([Column("date", "Tarih", 0.14, "date"), Column("balance", "Bakiye", 0.17, "balance", "r"), Column("amount", "Tutar", 0.17, "amount", "r"), Column("gap", "", 0.04), Column("text", "Açıklama", 0.46, "text")],
            [{"date": s.day(e.day, "{dd}.{mm}.{yyyy}"), "balance": s.signed(e.balance), "amount": s.signed(e.amount), "text": e.lines} for e in own.entries])  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "glyphs-nz", "NZ", "NZD", "en", "letters placed one by one, date once a day", is_lettered=True
)
def glyphs(s: Sheet) -> None:
    own = account(s.random, "en", "NZD", period(s.random))
    head(s, "The Co-operative Bank", "Registered bank. Statements are true and correct.", f"Account 02-1234-{own.number[:7]}-000",
         f"From {s.day(own.start, '{d} {Month} {yyyy}')} to {s.day(own.end, '{d} {Month} {yyyy}')}")  # fmt: skip
    rows: list[Cells] = (
        [{"text": "Opening balance", "balance": s.signed(own.opening)}]
        if s.style.has_balances
        else []
    )
    before = None
    for e in own.entries:
        shown: Cells = {"date": s.day(e.day, "{d} {Mon}")} if e.day != before else {}
        before = e.day
        rows.append({**shown, "text": e.lines, **sides(s, e), "balance": s.signed(e.balance)})
    s.table([Column("date", "Date", 0.1, "date"), Column("text", "Description", 0.42, "text"), Column("debit", "Withdrawals", 0.15, "debit", "r"), Column("credit", "Deposits", 0.15, "credit", "r"), Column("balance", "Balance", 0.17, "balance", "r")], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "galicia-ar",
    "AR",
    "ARS",
    "es",
    "minus in the debit column, dollar signs",
    thousands=".",
    point=",",
    fixed="separator",
)
def galicia(s: Sheet) -> None:
    own = account(s.random, "es", "ARS", period(s.random), scale=50)
    head(s, "Banco Galicia", "Banco de Galicia y Buenos Aires S.A.U. CUIT 30-50000173-5", "Resumen de Caja de Ahorro en Pesos", f"N° {own.number[:7]}-3 123-4",
         f"Período {s.day(own.start, '{dd}/{mm}/{yyyy}')} al {s.day(own.end, '{dd}/{mm}/{yyyy}')}")  # fmt: skip
    s.pairs(
        [
            ("Saldo inicial", "$" + s.signed(own.opening)),
            ("Saldo final", "$" + s.signed(own.closing)),
        ]
    )
    s.gap()
    s.table([Column("date", "Fecha", 0.1, "date"), Column("text", "Descripción", 0.36, "text"), Column("origin", "Origen", 0.08), Column("credit", "Crédito", 0.15, "credit", "r"), Column("debit", "Débito", 0.15, "debit", "r"), Column("balance", "Saldo", 0.16, "balance", "r")],
            [{"date": s.day(e.day, "{dd}/{mm}/{yy}"), "text": e.lines, "origin": "D", "debit" if e.is_debit else "credit": ("-" if e.is_debit else "") + s.num(e.amount), "balance": s.signed(e.balance)} for e in own.entries])  # fmt: skip
    s.say(
        f"Total   $ {s.num(own.paid_in)}   -$ {s.num(own.paid_out)}   $ {s.signed(own.closing)}",
        at=0.3,
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "cartola-cl",
    "CL",
    "CLP",
    "es",
    "no decimals, totals between dates",
    thousands=".",
    point=",",
    fixed="separator",
)
def cartola(s: Sheet) -> None:
    own = account(s.random, "es", "CLP", period(s.random), places=0, scale=900)
    head(s, "Banco Santander Chile", "Infórmese sobre la garantía estatal de los depósitos", "CARTOLA DE CUENTA CORRIENTE", f"CUENTA {own.number}",
         f"DESDE {s.day(own.start, '{dd}/{mm}/{yyyy}')} HASTA {s.day(own.end, '{dd}/{mm}/{yyyy}')}  MONEDA: PESOS")  # fmt: skip
    s.pairs(
        [
            ("SALDO INICIAL", s.signed(own.opening)),
            ("ABONOS", s.num(own.paid_in)),
            ("CARGOS", s.num(own.paid_out)),
            ("SALDO FINAL", s.signed(own.closing)),
        ]
    )
    s.gap()
    s.table([Column("date", "FECHA", 0.1, "date"), Column("branch", "SUCURSAL", 0.12), Column("text", "DESCRIPCION", 0.3, "text"), Column("no", "N° DCTO", 0.1), Column("debit", "CARGOS", 0.13, "debit", "r"), Column("credit", "ABONOS", 0.12, "credit", "r"), Column("balance", "SALDO", 0.13, "balance", "r")],
            [{"date": s.day(e.day, "{dd}/{mm}"), "branch": "O.Gerencia", "text": e.lines, "no": str(s.random.randint(10**5, 10**6)), **sides(s, e), "balance": s.signed(e.balance)} for e in own.entries])  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "mbank-pl",
    "PL",
    "PLN",
    "pl",
    "dates stacked, currency behind each amount",
    thousands=" ",
    point=",",
    fixed="separator",
)
def mbank(s: Sheet) -> None:
    own = account(s.random, "pl", "PLN", period(s.random))
    head(s, "mBank S.A.", "mBank S.A. ul. Prosta 18, 00-850 Warszawa, kapitał zakładowy 169 468 668,00 zł", "Elektroniczne zestawienie operacji", f"za okres od {s.day(own.start, '{yyyy}-{mm}-{dd}')} do {s.day(own.end, '{yyyy}-{mm}-{dd}')}",
         "eKonto 12 1140 2004 0000 3002 1234 5678")  # fmt: skip
    s.pairs(
        [
            ("Saldo początkowe:", s.signed(own.opening) + " PLN"),
            ("Saldo końcowe:", s.signed(own.closing) + " PLN"),
        ]
    )
    s.gap()
    s.table([Column("date", "Data operacji|Data księgowania", 0.16, "date"), Column("text", "Opis operacji", 0.44, "text"), Column("amount", "Kwota", 0.2, "amount", "r"), Column("balance", "Saldo po operacji", 0.2, "balance", "r")],
            [{"date": [s.day(e.day, "{yyyy}-{mm}-{dd}"), s.day(e.value_day, "{yyyy}-{mm}-{dd}")], "text": e.lines, "amount": s.signed(e.amount) + " PLN", "balance": s.signed(e.balance) + " PLN"} for e in own.entries])  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "brokerage-cash", "US", "USD", "en", "brokerage cash rows, brackets, quantities", size=LETTER
)
def brokerage(s: Sheet) -> None:
    own = account(s.random, "en", "USD", period(s.random))
    head(
        s,
        "Raymond Sample & Co.",
        "Member FINRA/SIPC. Prices are believed reliable but not guaranteed.",
        f"Brokerage Account {own.number}",
        f"{s.day(own.start, '{Month} {d}')} to {s.day(own.end, '{Month} {d}, {yyyy}')}",
    )
    s.pairs(
        [
            ("Beginning Cash Balance", "$" + s.brackets(own.opening)),
            ("Ending Cash Balance", "$" + s.brackets(own.closing)),
        ]
    )
    s.say("Cash Activity", is_bold=True)
    rows: list[Cells] = []
    for e in own.entries:
        is_trade = e.is_debit and s.random.random() < 0.4
        extra: Cells = (
            {"quantity": "12.000", "price": f"{s.random.randint(10, 300)}.1250"} if is_trade else {}
        )
        rows.append(
            {
                "date": s.day(e.day, "{mm}/{dd}/{yyyy}"),
                "kind": "Purchase" if is_trade else "Transfer",
                "text": e.lines,
                **extra,
                "amount": s.brackets(e.amount),
                "balance": s.brackets(e.balance),
            }
        )
    s.table([Column("date", "Date", 0.11, "date"), Column("kind", "Activity Type", 0.13), Column("text", "Description", 0.3, "text"), Column("quantity", "Quantity", 0.1, "spare", "r"), Column("price", "Price", 0.1, "spare", "r"),
             Column("amount", "Amount", 0.13, "amount", "r"), Column("balance", "Cash Balance", 0.13, "balance", "r")], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "shinkin-jp", "JP", "JPY", "ja", "no decimals, years of the era", fixed="separator letters"
)
def shinkin(s: Sheet) -> None:
    own = account(s.random, "ja", "JPY", period(s.random), places=0, scale=100)
    head(
        s,
        "城南信用金庫",
        "城南信用金庫 登録金融機関",
        "普通預金 お取引明細表",
        f"口座番号 {own.number[:7]}",
    )

    def day(e: Entry) -> str:
        return f"令和{e.day.year - 2018}年{e.day.month}月{e.day.day}日"

    s.pairs([("前月残高", s.signed(own.opening)), ("今月残高", s.signed(own.closing))])
    s.table([Column("date", "年月日", 0.18, "date"), Column("text", "摘要", 0.34, "text"), Column("debit", "お引出し", 0.16, "debit", "r"), Column("credit", "お預入れ", 0.16, "credit", "r"), Column("balance", "残高", 0.16, "balance", "r")],
            [{"date": day(e), "text": e.lines, **sides(s, e), "balance": s.signed(e.balance)} for e in own.entries])  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@third_bank(
    "s-pankki",
    "FI",
    "EUR",
    "fi",
    "sign behind the amount, archive numbers below",
    thousands=" ",
    point=",",
    fixed="separator",
)
def s_pankki(s: Sheet) -> None:
    own = account(s.random, "fi", "EUR", period(s.random))
    head(
        s,
        "S-Pankki Oyj",
        "S-Pankki Oyj, Fleminginkatu 34, Helsinki. Y-tunnus 2557308-3",
        "TILIOTE",
        f"Kausi {s.day(own.start, '{dd}.{mm}.{yyyy}')} - {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
        "Tilinumero FI21 3939 0012 3456 78  EUR",
    )
    rows: list[Cells] = (
        [
            {
                "text": f"Alkusaldo {s.day(own.start, '{dd}.{mm}.{yyyy}')}",
                "amount": s.trailing(own.opening, plus="+"),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd}.{mm}."),
            "value": s.day(e.value_day, "{dd}.{mm}."),
            "text": [*e.lines, f"Arkistointitunnus {s.random.randint(10**9, 10**10)}"],
            "amount": s.trailing(e.amount, plus="+"),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "text": f"Loppusaldo {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
                "amount": s.trailing(own.closing, plus="+"),
            }
        )
    s.table([Column("date", "Kirjaus-|päivä", 0.12, "date"), Column("value", "Arvo-|päivä", 0.12), Column("text", "Saaja/Maksaja|ja tiedot", 0.54, "text"), Column("amount", "Määrä|EUR", 0.2, "amount", "r")], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@third_bank(
    "day-sections",
    "CZ",
    "CZK",
    "cs",
    "date on a line of its own",
    thousands=" ",
    point=",",
    fixed="separator unhead",
)
def day_sections(s: Sheet) -> None:
    own = account(s.random, "cs", "CZK", period(s.random), scale=20)
    head(
        s,
        "Air Bank a.s.",
        "Air Bank a.s., Evropská 2690/17, Praha 6, IČ 29045371",
        "Výpis z běžného účtu",
        f"Období {s.day(own.start, '{d}. {m}. {yyyy}')} - {s.day(own.end, '{d}. {m}. {yyyy}')}",
        f"Číslo účtu {own.number}/3030",
    )
    s.pairs(
        [
            ("Počáteční zůstatek", s.signed(own.opening) + " CZK"),
            ("Připsáno", s.num(own.paid_in) + " CZK"),
            ("Odepsáno", "-" + s.num(own.paid_out) + " CZK"),
            ("Konečný zůstatek", s.signed(own.closing) + " CZK"),
        ]
    )
    s.gap()
    before = None
    for e in own.entries:
        if e.day != before:
            s.ensure(3)
            s.say(s.day(e.day, "{d}. {m}. {yyyy}"), is_bold=True)
            before = e.day
        s.table(
            [Column("text", "", 0.7, "text"), Column("amount", "", 0.26, "amount", "r")],
            [{"text": e.lines, "amount": s.signed(e.amount) + " CZK"}],
            has_headings=False,
        )
    s.booked(own, own.entries)
    s.framed(own)

"""Statements of Germany, Austria and Switzerland."""

from collections.abc import Sequence
from decimal import Decimal

from lab.documents.bank_pdfs.activity import Account, Entry, account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet

DE = {"thousands": ".", "point": ","}


def _front(s: Sheet, name: str, *lines: str, foot: str = "") -> None:
    s.on_page = lambda number: s.footer(
        foot
        or f"{name} - Anstalt des öffentlichen Rechts - Amtsgericht Köln HRA 15033 - Seite {number}",
        "Bitte erheben Sie Einwendungen innerhalb von 6 Wochen. Eingeräumte Kontoüberziehung 2.500,00 EUR zu 11,25 % p. a. (Stand 01.02.2024)",
    )
    s.page()
    s.say(name, is_bold=True, size=13)
    s.say("Frau Jana Muster", "Beispielweg 12", "50667 Köln")
    s.gap()
    s.say(*lines)
    s.gap()


def _numbers(s: Sheet) -> tuple[int, str]:
    return s.random.randint(1, 12), "DE12 3705 0198 1234 5678 90"


@bank("sparkasse", "DE", "EUR", "de", "signed amount, balances as rows", **DE)
def sparkasse(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random))
    number, iban = _numbers(s)
    _front(
        s,
        "Sparkasse KölnBonn",
        f"Kontoauszug {number}/{own.end.year}",
        f"Girokonto {own.number}, {iban}",
    )
    form = "{dd}.{mm}.{yyyy}"
    rows: list[Cells] = []
    if s.style.has_balances:
        rows.append(
            {
                "text": f"Kontostand am {s.day(own.start, form)}, Auszug Nr. {number - 1}",
                "amount": s.signed(own.opening),
            }
        )
    rows += [
        {"date": s.day(e.day, form), "text": e.lines, "amount": s.signed(e.amount)}
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "text": f"Kontostand am {s.day(own.end, form)} um 20:03 Uhr",
                "amount": s.signed(own.closing),
            }
        )
    s.table(
        [
            Column("date", "Datum", 0.14, "date"),
            Column("text", "Erläuterung", 0.66, "text"),
            Column("amount", "Betrag EUR", 0.2, "amount", "r"),
        ],
        rows,
    )
    s.gap()
    s.say(
        "Ihr verfügbarer Dispositionskredit beträgt 2.500,00 EUR.",
        "Anzahl Anlagen 1   Rechnungsabschluss: Zinsen für Guthaben 0,00 EUR",
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank("deutsche-bank", "DE", "EUR", "de", "Soll and Haben, two dates without year", **DE)
def deutsche_bank(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random, is_whole_month=False))
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "Deutsche Bank",
        f"Kontoauszug vom {s.day(own.start, form)} bis {s.day(own.end, form)}",
        "Kontoinhaber: Jana Muster   IBAN DE89 3707 0060 0123 4567 00",
        foot="Deutsche Bank AG, Filiale Köln",
    )
    s.pairs(
        (
            (
                "Alter Saldo per " + s.day(own.start, form),
                "EUR " + s.signed(own.opening, minus="- ", plus="+ "),
            ),
        ),
        to=0.9,
    )
    s.gap()
    s.table(
        [Column("date", "Buchung", 0.1, "date"), Column("value", "Valuta", 0.1), Column("text", "Vorgang", 0.48, "text"), Column("debit", "Soll", 0.16, "debit", "r"), Column("credit", "Haben", 0.16, "credit", "r")],
        [{"date": s.day(e.day, "{dd}.{mm}."), "value": s.day(e.value_day, "{dd}.{mm}."), "text": e.lines, "debit" if e.is_debit else "credit": ("- " if e.is_debit else "+ ") + s.num(e.amount)} for e in own.entries],
    )  # fmt: skip
    s.gap()
    s.pairs(
        (
            (
                "Neuer Saldo per " + s.day(own.end, form),
                "EUR " + s.signed(own.closing, minus="- ", plus="+ "),
            ),
        ),
        to=0.9,
    )
    s.say(
        "Wichtige Hinweise: Bitte beachten Sie, dass Guthaben bis 100.000,00 EUR je Einleger entschädigungsfähig sind."
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank(
    "volksbank",
    "DE",
    "EUR",
    "de",
    "S and H suffix, monospaced, margin text",
    font="courier",
    bold="courier",
    text_size=7.5,
    **DE,
    fixed="font",
)
def volksbank(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random, is_whole_month=False), rows=(10, 60))
    number, iban = _numbers(s)

    def mark(amount: Decimal) -> str:
        return s.num(amount) + (" S" if amount < 0 else " H")

    _front(
        s,
        "Volksbank Köln Bonn eG",
        f"Kontokorrent   EUR-Konto   Kontoauszug Nr. {number}/{own.end.year}   Blatt 1",
        f"IBAN {iban}   erstellt am {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
        foot="Volksbank Köln Bonn eG   BIC GENODED1BRS   USt-IdNr. DE122123456",
    )
    old = s.on_page

    def margin(page: int) -> None:
        old(page)
        s.paper.text(18, 500, f"PV 01.24 4.10.01  Formular 12.50 {own.number}", size=6, angle=90)

    s.on_page = margin
    s.paper.text(18, 500, f"PV 01.24 4.10.01  Formular 12.50 {own.number}", size=6, angle=90)
    rows: list[Cells] = (
        [
            {
                "text": f"alter Kontostand vom {s.day(own.start, '{dd}.{mm}.{yyyy}')}",
                "amount": mark(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    first = len(rows)
    rows += [
        {
            "date": s.day(e.day, "{dd}.{mm}."),
            "value": s.day(e.value_day, "{dd}.{mm}."),
            "text": e.lines,
            "amount": mark(e.amount),
        }
        for e in own.entries
    ]

    def carry(at: int) -> tuple[Cells, Cells]:
        balance = own.entries[at - first - 1].balance if at > first else own.opening
        if not s.style.has_balances:
            return {}, {}
        return {"text": f"Übertrag auf Blatt {s.paper.pages + 1}", "amount": mark(balance)}, {
            "text": f"Übertrag von Blatt {s.paper.pages}",
            "amount": mark(balance),
        }

    if s.style.has_balances:
        rows.append(
            {
                "text": f"neuer Kontostand vom {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
                "amount": mark(own.closing),
            }
        )
    s.table(
        [
            Column("date", "Bu-Tag", 0.1, "date"),
            Column("value", "Wert", 0.1),
            Column("text", "Vorgang", 0.58, "text"),
            Column("amount", "", 0.22, "amount", "r"),
        ],
        rows,
        carry=carry,
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank("ing-diba", "DE", "EUR", "de", "value date below booking date", **DE, fixed="swap")
def ing_diba(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random))
    form = "{dd}.{mm}.{yyyy}"
    number, iban = _numbers(s)
    _front(
        s,
        "ING-DiBa AG",
        f"Girokonto Nummer {own.number}",
        f"Kontoauszug {s.day(own.end, '{Month} {yyyy}')}",
        foot="ING-DiBa AG · Theodor-Heuss-Allee 2 · 60486 Frankfurt am Main · Vorsitzende des Aufsichtsrats: S. Boekhout",
    )
    s.pairs(
        (
            ("Datum", s.day(own.end, form)),
            ("Auszugsnummer", str(number)),
            ("Eingeräumte Kontoüberziehung", "1.000,00 Euro"),
            ("Alter Saldo", s.signed(own.opening) + " Euro"),
            ("Neuer Saldo", s.signed(own.closing) + " Euro"),
            ("IBAN", iban),
        ),
        at=0.55,
        to=1.0,
    )
    s.gap()
    rows: list[Cells] = [
        {
            "date": [s.day(e.day, form), s.day(e.value_day, form)],
            "text": [e.lines[0], *(e.lines[1:] or [""])],
            "amount": s.signed(e.amount),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append({"text": "Neuer Saldo", "amount": s.signed(own.closing)})
    s.table(
        [
            Column("date", "Buchung|Valuta", 0.15, "date"),
            Column("text", "Buchung / Verwendungszweck|", 0.65, "text"),
            Column("amount", "Betrag (EUR)|", 0.2, "amount", "r"),
        ],
        rows,
    )
    s.gap()
    s.say("Kunden-Information", is_bold=True)
    s.say(
        "Vorliegender Freistellungsauftrag   1.000,00",
        "Bitte beachten Sie auch die nachfolgenden Hinweise. Kontostand ohne Gewähr.",
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank("commerzbank", "DE", "EUR", "de", "booking date over groups of rows, trailing minus", **DE)
def commerzbank(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random))
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "COMMERZBANK",
        f"Kontoauszug vom {s.day(own.end, form)}",
        f"Kontonummer {own.number}   Auszug-Nr. {s.random.randint(1, 12)}",
        foot="Commerzbank AG, Filiale Köln, USt-IdNr. DE 114 103 514",
    )
    rows: list[Cells] = []
    if s.style.has_balances:
        money = {"debit" if own.opening < 0 else "credit": s.trailing(own.opening)}
        rows.append({"text": f"Alter Kontostand vom {s.day(own.start, form)}", **money})
    before = None
    for e in own.entries:
        if e.day != before:
            rows.append({"text": f"Buchungsdatum: {s.day(e.day, form)}"})
        before = e.day
        rows.append(
            {
                "text": e.lines,
                "value": s.day(e.value_day, "{dd}.{mm}"),
                "debit" if e.is_debit else "credit": s.trailing(e.amount),
            }
        )
    if s.style.has_balances:
        rows.append(
            {
                "text": f"Neuer Kontostand vom {s.day(own.end, form)}",
                "debit" if own.closing < 0 else "credit": s.trailing(own.closing),
            }
        )
    s.table([
        Column("text", "Angaben zu den Umsätzen", 0.5, "text"), Column("value", "Valuta", 0.12), Column("debit", "zu Ihren Lasten", 0.19, "debit", "r"), Column("credit", "zu Ihren Gunsten", 0.19, "credit", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank("barclaycard-de", "DE", "EUR", "de", "card, trailing sign", **DE)
def barclaycard(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random, is_whole_month=False), is_card=True)
    owed = -own.opening + sum(e.amount for e in own.entries)
    form = "{dd}.{mm}.{yy}"
    _front(
        s,
        "Barclays Visa",
        f"Kontoauszug {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
        "Kreditkarte 4917 XXXX XXXX 1234",
        foot="Barclays Bank Ireland PLC Hamburg Branch, Stuhlrohrstraße 10, 21029 Hamburg",
    )
    s.pairs(
        (
            ("Alter Saldo", s.num(own.opening) + "-"),
            ("Zahlungen und Gutschriften", s.num(own.paid_in) + "+"),
            ("Umsätze", s.num(own.paid_out) + "-"),
            ("Neuer Saldo", s.trailing(owed, plus="+")),
        )
    )
    s.say("Bitte zahlen Sie mindestens 50,00 EUR. Jahreszins 18,38 %.")
    s.gap()
    s.table(
        [Column("bought", "Beleg-|datum", 0.11), Column("date", "Buchungs-|datum", 0.11, "date"), Column("text", "|Umsatzbeschreibung", 0.5, "text"), Column("card", "|Karte", 0.1), Column("amount", "Betrag|in EUR", 0.18, "amount", "r")],
        [{"bought": s.day(e.day - (e.value_day - e.day), form), "date": s.day(e.day, form), "text": e.lines, "card": "Visa", "amount": s.trailing(e.amount, plus="+")} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries)


@bank("erste", "AT", "EUR", "de", "trailing minus, date without separators", **DE)
def erste(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random))
    _front(
        s,
        "Erste Bank der oesterreichischen Sparkassen AG",
        f"Auszug {s.random.randint(1, 99):03}   Datum {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
        "IBAN AT61 2011 1000 0123 4567   Währung EUR",
        foot="Erste Bank, Am Belvedere 1, 1100 Wien, FN 286283f",
    )
    rows: list[Cells] = (
        [{"text": "Alter Kontostand", "amount": s.trailing(own.opening)}]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd}.{mm}.{yy}"),
            "text": e.lines,
            "value": s.day(e.value_day, "{dd}{mm}"),
            "amount": s.trailing(e.amount),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "text": "Neuer Kontostand zu Ihren Gunsten"
                if own.closing >= 0
                else "Neuer Kontostand zu Ihren Lasten",
                "amount": s.trailing(own.closing),
            }
        )
    s.table(
        [
            Column("date", "Datum", 0.12, "date"),
            Column("text", "Bezeichnung", 0.52, "text"),
            Column("value", "Wert", 0.14),
            Column("amount", "Betrag", 0.22, "amount", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank(
    "ubs",
    "CH",
    "CHF",
    "de",
    "Swiss columns with running balance",
    thousands="'",
    point=".",
    fixed="separator",
)
def ubs(s: Sheet) -> None:
    own = account(s.random, "de", "CHF", period(s.random), scale=3)
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "UBS Switzerland AG",
        "UBS Privatkonto   Kontoauszug",
        f"{s.day(own.start, form)} - {s.day(own.end, form)}   IBAN CH93 0076 2011 6238 5295 7   CHF",
        foot="UBS Switzerland AG, Postfach, 8098 Zürich",
    )
    short = "{dd}.{mm}.{yy}"
    rows: list[Cells] = [
        {
            "date": s.day(e.day, short),
            "text": e.lines,
            "debit" if e.is_debit else "credit": s.num(e.amount),
            "value": s.day(e.value_day, short),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.insert(
            0,
            {
                "date": s.day(own.start, "{dd}.{mm}.{yy}"),
                "text": "Anfangssaldo",
                "balance": s.signed(own.opening),
            },
        )
        rows.append(
            {
                "date": s.day(own.end, "{dd}.{mm}.{yy}"),
                "text": "Schlusssaldo",
                "balance": s.signed(own.closing),
            }
        )
    rows.append({"text": "Umsatztotal", "debit": s.num(own.paid_out), "credit": s.num(own.paid_in)})
    s.table([
        Column("date", "Datum", 0.11, "date"), Column("text", "Information", 0.33, "text"), Column("debit", "Belastungen", 0.15, "debit", "r"), Column("credit", "Gutschriften", 0.15, "credit", "r"),
        Column("value", "  Valuta", 0.12, "spare", "r"), Column("balance", "Saldo", 0.14, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank(
    "postfinance",
    "CH",
    "CHF",
    "de",
    "credit before debit, several accounts",
    thousands=" ",
    point=".",
    fixed="separator",
)
def postfinance(s: Sheet) -> None:
    span = period(s.random)
    form = "{dd}.{mm}.{yyyy}"
    s.on_page = lambda number: s.footer(
        "PostFinance AG, Mingerstrasse 20, 3030 Bern. Bitte überprüfen Sie den Kontoauszug.",
        f"Seite {number}",
    )
    s.page()
    s.say("PostFinance", is_bold=True, size=13)
    s.say(
        f"Kontoauszug {s.day(span[0], form)} - {s.day(span[1], form)}   Frau J. Muster, 3011 Bern"
    )
    for title in ("Privatkonto CHF", "E-Sparkonto CHF"):
        own = account(s.random, "de", "CHF", span, rows=(3, 14))
        s.gap()
        s.ensure(8)
        s.say(
            f"{title}   Kontonummer {own.number[:2]}-{own.number[2:8]}-{own.number[8]}   IBAN CH36 0900 0000 {own.number[:4]} {own.number[4:8]} {own.number[8]}",
            is_bold=True,
        )
        _swiss(s, own, own.entries)
        s.framed(own)


def _swiss(s: Sheet, own: Account, entries: Sequence[Entry]) -> None:
    short = "{dd}.{mm}.{yy}"
    rows: list[Cells] = []
    for at, e in enumerate(entries):
        balance = {"balance": s.signed(e.balance)} if own.last_of_day(at) else {}
        rows.append(
            {
                "date": s.day(e.day, short),
                "text": e.lines,
                "debit" if e.is_debit else "credit": s.num(e.amount),
                "value": s.day(e.value_day, short),
                **balance,
            }
        )
    if s.style.has_balances:
        rows.insert(
            0,
            {
                "date": s.day(own.start, short),
                "text": "Kontostand",
                "balance": s.signed(own.opening),
            },
        )
    rows.append({"text": "Total", "debit": s.num(own.paid_out), "credit": s.num(own.paid_in)})
    if s.style.has_balances:
        rows.append(
            {"date": s.day(own.end, short), "text": "Kontostand", "balance": s.signed(own.closing)}
        )
    s.table([
        Column("date", "Datum", 0.11, "date"), Column("text", "Text", 0.33, "text"), Column("credit", "Gutschrift", 0.15, "credit", "r"), Column("debit", "Lastschrift", 0.15, "debit", "r"),
        Column("value", "  Valuta", 0.12, "spare", "r"), Column("balance", "Saldo", 0.14, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, entries, balances="day")

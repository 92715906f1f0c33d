"""Layouts of the second set from the continent of Europe."""

from lab.documents.bank_pdfs.activity import account, period
from lab.documents.bank_pdfs.further import head, sides
from lab.documents.bank_pdfs.layouts import further_bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet

EU = {"thousands": ".", "point": ","}


@further_bank(
    "comdirect",
    "DE",
    "EUR",
    "de",
    "dates below one another, two text columns",
    **EU,
    fixed="swap",
)
def comdirect(s: Sheet) -> None:
    own = account(s.random, "de", "EUR", period(s.random))
    form = "{dd}.{mm}.{yyyy}"
    head(
        s,
        "comdirect",
        "comdirect - eine Marke der Commerzbank AG, Pascalkehre 15, 25451 Quickborn",
        f"Finanzreport Nr. {s.random.randint(1, 12)} per {s.day(own.end, form)}",
        f"Girokonto {own.number}  IBAN DE12 2004 1111 0123 4567 00",
    )
    rows: list[Cells] = (
        [
            {
                "kind": "Alter Saldo",
                "date": s.day(own.start, form),
                "debit" if own.opening < 0 else "credit": s.signed(own.opening, plus="+"),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": [s.day(e.day, form), s.day(e.value_day, form)],
            "kind": "Lastschrift / Belastung" if e.is_debit else "Übertrag / Überweisung",
            "text": e.lines,
            "debit" if e.is_debit else "credit": s.signed(e.amount, plus="+"),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "kind": "Neuer Saldo",
                "date": s.day(own.end, form),
                "debit" if own.closing < 0 else "credit": s.signed(own.closing, plus="+"),
            }
        )
    s.table(
        [
            Column("date", "Buchungstag|Valuta", 0.14, "date"),
            Column("kind", "Vorgang|", 0.2),
            Column("text", "Buchungstext|", 0.36, "text"),
            Column("debit", "Ausgang|", 0.15, "debit", "r"),
            Column("credit", "Eingang|", 0.15, "credit", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries)
    s.framed(own)


@further_bank(
    "boursorama",
    "FR",
    "EUR",
    "fr",
    "debit and credit, balances above and below",
    thousands=".",
    point=",",
)
def boursorama(s: Sheet) -> None:
    own = account(s.random, "fr", "EUR", period(s.random))
    form = "{dd}/{mm}/{yyyy}"
    head(
        s,
        "BoursoBank",
        "Boursorama S.A. au capital de 53.576.889,20 euros - RCS Nanterre 351 058 151 - 44 rue Traversière, 92772 Boulogne",
        "Extrait de votre compte en EUR",
        f"du {s.day(own.start, form)} au {s.day(own.end, form)}",
        f"RIB 40618 80264 000{own.number[:8]} 42",
    )
    if s.style.has_balances:
        s.put(s.x(0.2), s.y, f"SOLDE AU : {s.day(own.start, form)}")
        s.put(s.x(1) - 4 if own.opening >= 0 else s.x(0.845), s.y, s.num(own.opening), align="r")
        s.gap(1.5)
    s.table([Column("date", "Date opération", 0.14, "date"), Column("text", "Libellé", 0.42, "text"), Column("value", "Valeur", 0.13), Column("debit", "Débit", 0.155, "debit", "r"), Column("credit", "Crédit", 0.155, "credit", "r")],
            [{"date": s.day(e.day, form), "text": e.lines, "value": s.day(e.value_day, form), **sides(s, e)} for e in own.entries])  # fmt: skip
    if s.style.has_balances:
        s.put(s.x(0.2), s.y, f"Nouveau solde en EUR : {s.day(own.end, form)}")
        s.put(s.x(1) - 4 if own.closing >= 0 else s.x(0.845), s.y, s.num(own.closing), align="r")
        s.gap()
    s.booked(own, own.entries)
    s.framed(own)


@further_bank(
    "unicredit",
    "IT",
    "EUR",
    "it",
    "description in the last column",
    **EU,
    fixed="swap",
)
def unicredit(s: Sheet) -> None:
    own = account(s.random, "it", "EUR", period(s.random))
    form = "{dd}.{mm}.{yy}"
    head(
        s,
        "UniCredit",
        "UniCredit S.p.A. Piazza Gae Aulenti 3, Milano. Capitale sociale € 21.277.874.388,48 interamente versato",
        f"ESTRATTO CONTO al {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
        "CONTO N. 000012345678  IBAN IT60 X020 0811 1010 0001 2345 678",
    )
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, form),
                "debit" if own.opening < 0 else "credit": s.num(own.opening),
                "text": "SALDO INIZIALE",
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, form),
            "value": s.day(e.value_day, form),
            **sides(s, e),
            "text": e.lines,
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "date": s.day(own.end, form),
                "debit" if own.closing < 0 else "credit": s.num(own.closing),
                "text": "SALDO FINALE",
            }
        )
    s.table(
        [
            Column("date", "DATA", 0.11, "date"),
            Column("value", "VALUTA", 0.11),
            Column("debit", "USCITE", 0.14, "debit", "r"),
            Column("credit", "ENTRATE", 0.14, "credit", "r"),
            Column("gap", "", 0.03),
            Column("text", "DESCRIZIONE OPERAZIONI", 0.47, "text"),
        ],
        rows,
    )
    s.booked(own, own.entries)
    s.framed(own)


@further_bank(
    "bbva-es",
    "ES",
    "EUR",
    "es",
    "amount and balance, description of two kinds",
    **EU,
)
def bbva(s: Sheet) -> None:
    own = account(s.random, "es", "EUR", period(s.random, is_whole_month=False))
    head(
        s,
        "BBVA",
        "BANCO BILBAO VIZCAYA ARGENTARIA, S.A. Plaza San Nicolás 4, 48005 BILBAO. CIF A48265169",
        f"EXTRACTO DE {s.day(own.end, '{Month} {yyyy}').upper()}",
        f"TITULAR: JUANA EJEMPLO  Periodo del {s.day(own.start, '{dd}/{mm}/{yyyy}')} al {s.day(own.end, '{dd}/{mm}/{yyyy}')}",
        "IBAN ES79 0182 2370 4202 0158 0123  EUR",
    )
    rows: list[Cells] = (
        [{"text": "SALDO ANTERIOR", "balance": s.signed(own.opening)}]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd}/{mm}"),
            "value": s.day(e.value_day, "{dd}/{mm}"),
            "text": e.lines,
            "amount": s.signed(e.amount),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "text": "SALDO A SU FAVOR" if own.closing >= 0 else "SALDO A NUESTRO FAVOR",
                "balance": s.signed(own.closing),
            }
        )
    s.table(
        [
            Column("date", "F. OPER.", 0.1, "date"),
            Column("value", "F. VALOR", 0.1),
            Column("text", "CONCEPTO", 0.44, "text"),
            Column("amount", "IMPORTE", 0.18, "amount", "r"),
            Column("balance", "SALDO", 0.18, "balance", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@further_bank(
    "swedbank",
    "SE",
    "SEK",
    "sv",
    "signed amount, spaces, two dates",
    thousands=" ",
    point=",",
)
def swedbank(s: Sheet) -> None:
    own = account(s.random, "sv", "SEK", period(s.random), scale=8)
    form = "{yyyy}-{mm}-{dd}"
    head(
        s,
        "Swedbank",
        "Swedbank AB (publ), 105 34 Stockholm. Insättningsgaranti 1 050 000 kr.",
        "Kontoutdrag",
        f"Clearing 8327-9  Konto {own.number}  {s.day(own.start, form)} - {s.day(own.end, form)}",
    )
    s.pairs(
        (
            ("Ingående saldo", s.signed(own.opening) + " kr"),
            ("Utgående saldo", s.signed(own.closing) + " kr"),
        )
    )
    s.gap()
    s.table([Column("date", "Bokföringsdag", 0.15, "date"), Column("trans", "Transaktionsdag", 0.16), Column("text", "Beskrivning", 0.33, "text"), Column("amount", "Belopp", 0.18, "amount", "r"), Column("balance", "Bokfört saldo", 0.18, "balance", "r")],
            [{"date": s.day(e.day, form), "trans": s.day(e.day, form), "text": e.lines, "amount": s.signed(e.amount), "balance": s.signed(e.balance)} for e in own.entries])  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)

"""Statements of the Netherlands, Scandinavia, Finland, Poland, Czechia and Turkey."""

from lab.documents.bank_pdfs.activity import account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet

EU = {"thousands": ".", "point": ","}
NORTH = {"thousands": " ", "point": ","}


def _front(s: Sheet, name: str, foot: str, *lines: str) -> None:
    s.on_page = lambda number: s.footer(foot, f"{number} (3)")
    s.page()
    s.say(name, is_bold=True, size=13)
    s.gap()
    s.say(*lines)
    s.gap()


@bank("ing-nl", "NL", "EUR", "nl", "newest first, plus and minus", **EU)
def ing(s: Sheet) -> None:
    own = account(s.random, "nl", "EUR", period(s.random))
    form = "{dd}-{mm}-{yyyy}"
    _front(s, "Afschrift Betaalrekening", "ING Bank N.V. Statutair gevestigd te Amsterdam, Handelsregister nr. 33031431. Deposito's tot € 100.000,00 zijn beschermd.",
           "Mw J Voorbeeld", f"NL12 INGB 0001 2345 67   Periode {s.day(own.start, form)} t/m {s.day(own.end, form)}")  # fmt: skip
    s.pairs(
        (
            ("Beginsaldo", s.signed(own.opening) + " EUR"),
            ("Eindsaldo", s.signed(own.closing) + " EUR"),
            ("Totaal af", "-" + s.num(own.paid_out)),
            ("Totaal bij", "+" + s.num(own.paid_in)),
        )
    )
    s.gap()
    turned = list(reversed(own.entries))
    s.table(
        [Column("date", "Datum", 0.14, "date"), Column("text", "Naam / Omschrijving / Mededeling", 0.5, "text"), Column("type", "Type", 0.18), Column("amount", "Bedrag (EUR)", 0.18, "amount", "r")],
        [{"date": s.day(e.day, form), "text": e.lines, "type": "Betaalautomaat" if e.is_debit else "Overschrijving", "amount": s.signed(e.amount, plus="+")} for e in turned],
    )  # fmt: skip
    s.booked(own, turned)
    s.framed(own)


@bank("rabobank", "NL", "EUR", "nl", "debit and credit, day and month, code column", **EU)
def rabobank(s: Sheet) -> None:
    own = account(s.random, "nl", "EUR", period(s.random, is_whole_month=False))
    form = "{dd}-{mm}-{yyyy}"
    _front(
        s,
        "Rabobank",
        "Coöperatieve Rabobank U.A., Croeselaan 18 Utrecht, KvK 30046259",
        "Rekeningafschrift",
        f"NL44 RABO 0123 4567 89 EUR   Datum vanaf {s.day(own.start, form)}   Datum t/m {s.day(own.end, form)}",
    )
    s.pairs(
        (
            ("Beginsaldo", s.num(own.opening) + (" CR" if own.opening >= 0 else " D")),
            ("Totaal bij (credit)", s.num(own.paid_in)),
            ("Totaal af (debet)", s.num(own.paid_out)),
            ("Eindsaldo", s.num(own.closing) + (" CR" if own.closing >= 0 else " D")),
        )
    )
    s.gap()
    s.table(
        [Column("date", "Rente|datum", 0.09, "date"), Column("code", "|Type", 0.07), Column("text", "|Omschrijving", 0.5, "text"), Column("debit", "Bedrag af|(debet)", 0.17, "debit", "r"), Column("credit", "Bedrag bij|(credit)", 0.17, "credit", "r")],
        [{"date": s.day(e.day, "{dd}-{mm}"), "code": "bc" if e.is_debit else "cb", "text": e.lines, "debit" if e.is_debit else "credit": s.num(e.amount)} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank("abn-amro", "NL", "EUR", "nl", "value date in brackets below", **EU, fixed="swap")
def abn_amro(s: Sheet) -> None:
    own = account(s.random, "nl", "EUR", period(s.random))
    _front(
        s,
        "ABN AMRO",
        "ABN AMRO Bank N.V. gevestigd te Amsterdam, KvK 34334259, BTW-id NL820646660B01",
        f"Rekeningafschrift {s.day(own.end, '{dd}-{mm}-{yyyy}')}",
        f"Rekeningnummer NL91 ABNA 0417 1643 00   Volgnummer {s.random.randint(1, 30)}",
    )
    s.pairs(
        (
            ("Vorig saldo", s.signed(own.opening, plus="+ ", minus="- ")),
            ("Nieuw saldo", s.signed(own.closing, plus="+ ", minus="- ")),
            ("Totaal afgeschreven", s.num(own.paid_out)),
            ("Totaal bijgeschreven", s.num(own.paid_in)),
        )
    )
    s.gap()
    rows: list[Cells] = [
        {
            "date": [s.day(e.day, "{dd}-{mm}"), f"({s.day(e.value_day, '{dd}-{mm}')})"],
            "text": [e.lines[0], *(e.lines[1:] or ["SEPA"])],
            "debit" if e.is_debit else "credit": s.num(e.amount),
        }
        for e in own.entries
    ]
    for e in own.entries:
        e.lines = [e.lines[0], *(e.lines[1:] or ["SEPA"])]
    s.table([
        Column("date", "Boekdatum|(Rentedatum)", 0.15, "date"), Column("text", "Omschrijving|", 0.49, "text"), Column("debit", "Bedrag af|(debet)", 0.18, "debit", "r"),
        Column("credit", "Bedrag bij|(credit)", 0.18, "credit", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank("seb", "SE", "SEK", "sv", "ISO dates, running balance", **NORTH)
def seb(s: Sheet) -> None:
    own = account(s.random, "sv", "SEK", period(s.random), scale=10)
    form = "{yyyy}-{mm}-{dd}"
    _front(
        s,
        "SEB",
        "Skandinaviska Enskilda Banken AB, 106 40 Stockholm, org nr 502032-9081",
        "Kontoutdrag",
        f"Privatkonto 5201 00 123 45   Period {s.day(own.start, form)} - {s.day(own.end, form)}   Valuta SEK",
    )
    s.pairs(
        (
            ("Ingående saldo", s.signed(own.opening)),
            ("Utgående saldo", s.signed(own.closing)),
            ("Insättningar", s.num(own.paid_in)),
            ("Uttag", "-" + s.num(own.paid_out)),
        )
    )
    s.gap()
    s.table(
        [Column("date", "Bokföringsdag", 0.15, "date"), Column("value", "Valutadag", 0.13), Column("ref", "Verifikationsnr", 0.14), Column("text", "Text", 0.28, "text"), Column("amount", "Belopp", 0.15, "amount", "r"), Column("balance", "Saldo", 0.15, "balance", "r")],
        [{"date": s.day(e.day, form), "value": s.day(e.value_day, form), "ref": str(s.random.randint(10**8, 10**9)), "text": e.lines, "amount": s.signed(e.amount), "balance": s.signed(e.balance)} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank("danske-bank", "DK", "DKK", "da", "running balance, dot dates", **EU)
def danske(s: Sheet) -> None:
    own = account(s.random, "da", "DKK", period(s.random), scale=7)
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "Danske Bank",
        "Danske Bank A/S, Bernstorffsgade 40, 1577 København V, CVR-nr. 61 12 62 28",
        "Kontoudskrift",
        f"Kontonr. 3409 {own.number}   Periode {s.day(own.start, form)} - {s.day(own.end, form)}   Valuta DKK",
    )
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{dd}.{mm}"),
                "text": "Saldo primo",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd}.{mm}"),
            "text": e.lines,
            "value": s.day(e.value_day, "{dd}.{mm}"),
            "amount": s.signed(e.amount),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "date": s.day(own.end, "{dd}.{mm}"),
                "text": "Saldo ultimo",
                "balance": s.signed(own.closing),
            }
        )
    s.table([
        Column("date", "Dato", 0.1, "date"), Column("text", "Tekst", 0.42, "text"), Column("value", "Rentedato", 0.12), Column("amount", "Beløb i kr.", 0.18, "amount", "r"), Column("balance", "Saldo i kr.", 0.18, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank("dnb", "NO", "NOK", "no", "debit and credit, day and month without separator", **EU)
def dnb(s: Sheet) -> None:
    own = account(s.random, "no", "NOK", period(s.random), scale=10)
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "DNB Bank ASA",
        "DNB Bank ASA, Postboks 1600 Sentrum, 0021 Oslo, Org.nr. 984 851 006",
        f"Kontoutskrift nr. {s.random.randint(1, 12)} for konto 1234.56.78903",
        f"I perioden {s.day(own.start, form)} - {s.day(own.end, form)}   Valuta NOK",
    )
    word = "Saldo i Deres favør"
    rows: list[Cells] = []
    if s.style.has_balances:
        rows.append(
            {
                "text": f"{word if own.opening >= 0 else 'Saldo i vår favør'} {s.day(own.start, form)}",
                "debit" if own.opening < 0 else "credit": s.num(own.opening),
            }
        )
    rows += [
        {
            "text": e.lines,
            "value": s.day(e.value_day, "{dd}{mm}"),
            "debit" if e.is_debit else "credit": s.num(e.amount),
            "date": s.day(e.day, "{dd}{mm}"),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append(
            {
                "text": f"{word if own.closing >= 0 else 'Saldo i vår favør'} {s.day(own.end, form)}",
                "debit" if own.closing < 0 else "credit": s.num(own.closing),
            }
        )
    s.table([
        Column("text", "Forklaring", 0.42, "text"), Column("value", "Rentedato", 0.11), Column("debit", "Ut av konto", 0.17, "debit", "r"), Column("credit", "Inn på konto", 0.17, "credit", "r"), Column("date", "  Bokført", 0.13, "date", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank(
    "nordea-fi",
    "FI",
    "EUR",
    "fi",
    "sign behind the amount, booking day over rows",
    thousands=" ",
    point=",",
)
def nordea(s: Sheet) -> None:
    own = account(s.random, "fi", "EUR", period(s.random))
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "Nordea",
        "Nordea Bank Oyj, Satamaradankatu 5, FI-00020 NORDEA, Y-tunnus 2858394-9",
        f"TILIOTE {s.random.randint(1, 12)}",
        f"Kausi {s.day(own.start, form)} - {s.day(own.end, form)}   FI21 1234 5600 0007 85   EUR",
    )
    rows: list[Cells] = (
        [
            {
                "text": f"Alkusaldo {s.day(own.start, form)}",
                "amount": s.trailing(own.opening, plus="+"),
            }
        ]
        if s.style.has_balances
        else []
    )
    before = None
    for e in own.entries:
        if e.day != before:
            rows.append({"text": f"Kirjauspäivä {s.day(e.day, '{dd}.{mm}.{yy}')}"})
        before = e.day
        rows.append(
            {
                "value": s.day(e.value_day, "{dd}{mm}"),
                "text": e.lines,
                "amount": s.trailing(e.amount, plus="+"),
            }
        )
    if s.style.has_balances:
        rows.append(
            {
                "text": f"Loppusaldo {s.day(own.end, form)}",
                "amount": s.trailing(own.closing, plus="+"),
            }
        )
    s.table(
        [
            Column("value", "Arvopäivä", 0.12),
            Column("text", "Saaja / Maksaja", 0.66, "text"),
            Column("amount", "Määrä", 0.22, "amount", "r"),
        ],
        rows,
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank("mbank", "PL", "PLN", "pl", "running balance, other script font", **NORTH)
def mbank(s: Sheet) -> None:
    own = account(s.random, "pl", "PLN", period(s.random), scale=4)
    form = "{yyyy}-{mm}-{dd}"
    _front(
        s,
        "mBank S.A.",
        "mBank S.A. z siedzibą w Warszawie, ul. Prosta 18, KRS 0000025237, kapitał zakładowy 169.468.620 złotych",
        "Elektroniczne zestawienie operacji",
        f"za okres od {s.day(own.start, form)} do {s.day(own.end, form)}",
        "eKonto 11 1140 2004 0000 3102 1234 5678   PLN",
    )
    s.pairs(
        (
            ("Saldo początkowe", s.signed(own.opening)),
            ("Suma uznań", s.num(own.paid_in)),
            ("Suma obciążeń", s.num(own.paid_out)),
            ("Saldo końcowe", s.signed(own.closing)),
        )
    )
    s.gap()
    s.table(
        [Column("date", "Data|księgowania", 0.13, "date"), Column("value", "Data|operacji", 0.13), Column("text", "Opis operacji|", 0.4, "text"), Column("amount", "Kwota|", 0.17, "amount", "r"), Column("balance", "Saldo po|operacji", 0.17, "balance", "r")],
        [{"date": s.day(e.day, form), "value": s.day(e.day, form), "text": e.lines, "amount": s.signed(e.amount), "balance": s.signed(e.balance)} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank(
    "ceska-sporitelna", "CZ", "CZK", "cs", "value date below, plus and minus", **NORTH, fixed="swap"
)
def ceska(s: Sheet) -> None:
    own = account(s.random, "cs", "CZK", period(s.random), scale=20)
    form = "{dd}.{mm}.{yyyy}"
    _front(
        s,
        "Česká spořitelna",
        "Česká spořitelna, a.s., Olbrachtova 1929/62, 140 00 Praha 4, IČ 45244782",
        "VÝPIS Z ÚČTU",
        f"Období: {s.day(own.start, form)} - {s.day(own.end, form)}   Měna účtu: CZK   Účet/kód banky: 1234567890/0800",
    )
    s.pairs(
        (
            ("Počáteční zůstatek", s.signed(own.opening, plus="+")),
            ("Celkem příjmy", "+" + s.num(own.paid_in)),
            ("Celkem výdaje", "-" + s.num(own.paid_out)),
            ("Konečný zůstatek", s.signed(own.closing, plus="+")),
        )
    )
    s.gap()
    s.table(
        [Column("date", "Zaúčtováno|Provedeno", 0.15, "date"), Column("text", "Položka|", 0.65, "text"), Column("amount", "Částka|", 0.2, "amount", "r")],
        [{"date": [s.day(e.day, form), s.day(e.day, form)], "text": e.lines, "amount": s.signed(e.amount, plus="+")} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank("garanti", "TR", "TRY", "tr", "running balance, currency in cells", **EU)
def garanti(s: Sheet) -> None:
    own = account(s.random, "tr", "TRY", period(s.random), scale=10)
    form = "{dd}/{mm}/{yyyy}"
    _front(
        s,
        "Garanti BBVA",
        "T. Garanti Bankası A.Ş. Nispetiye Mah. Aytar Cad. No:2 Beşiktaş İstanbul, Mersis 0879001756600379",
        "HESAP EKSTRESİ",
        f"Dönem {s.day(own.start, form)} - {s.day(own.end, form)}   IBAN TR33 0006 2000 0000 1234 5678 90   TL",
    )
    s.table(
        [Column("date", "Tarih", 0.14, "date"), Column("text", "Açıklama", 0.46, "text"), Column("amount", "Tutar", 0.2, "amount", "r"), Column("balance", "Bakiye", 0.2, "balance", "r")],
        [{"date": s.day(e.day, form), "text": e.lines, "amount": s.signed(e.amount) + " TL", "balance": s.signed(e.balance) + " TL"} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries, balances="row")

"""Exports of European banks."""

from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import bank, comma, iban, point
from lab.documents.banks.table import Export


@bank("revolut", "GB", "GBP", "en", balances=True)
def revolut(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["CARD_PAYMENT" if e.amount < 0 else "TOPUP", "Current", f"{e.day} 10:11:12", f"{e.day} 23:01:00", e.text,
         point(e.amount), "0.00", "GBP", "COMPLETED", point(e.balance)]
        for e in entries
    ]  # fmt: skip
    if len(rows) > 2:  # money that never moved
        rows.insert(
            2,
            [
                "CARD_PAYMENT",
                "Current",
                rows[1][2],
                "",
                "Hotel deposit",
                "-88.00",
                "0.00",
                "GBP",
                "REVERTED",
                "",
            ],
        )
    headings = (
        "Type Product|Started Date|Completed Date|Description|Amount|Fee|Currency|State|Balance"
    )
    return Export(
        ["Type", *headings.replace("Type ", "").split("|")], rows, {2, 3, 4, 5, 6, 7, 8, 9}
    )


@bank("wise", "GB", "EUR", "en", balances=True)
def wise(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"CARD-{random.randint(10**8, 10**9)}", f"{e.day:%d-%m-%Y}", point(e.amount), "EUR", e.text, "", point(e.balance),
         "", "", "", "", "", "", e.text, "1234", "Anna Muster", "", "", "0.00"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "TransferWise ID",
        "Date",
        "Amount",
        "Currency",
        "Description",
        "Payment Reference",
        "Running Balance",
        "Exchange From",
        "Exchange To",
        "Exchange Rate",
        "Payer Name",
        "Payee Name",
        "Payee Account Number",
        "Merchant",
        "Card Last Four Digits",
        "Card Holder Full Name",
        "Attachment",
        "Note",
        "Total fees",
    ]
    return Export(headings, rows, {1, 2, 3, 4, 6})


@bank("n26", "DE", "EUR", "de")
def n26(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", e.text, iban(random, "DE"), "Presentment" if e.amount < 0 else "Credit Transfer",
         "Rechnung", "Main Account", point(e.amount), "", "", ""]
        for e in entries
    ]  # fmt: skip
    headings = [
        "Booking Date",
        "Value Date",
        "Partner Name",
        "Partner Iban",
        "Type",
        "Payment Reference",
        "Account Name",
        "Amount (EUR)",
        "Original Amount",
        "Original Currency",
        "Exchange Rate",
    ]
    return Export(headings, rows, {0, 1, 2, 7}, is_quoted=True)


@bank("abn-amro-tab", "NL", "EUR", "nl", balances=True)
def abn_amro(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["123456789", "EUR", f"{e.day:%Y%m%d}", comma(e.balance - e.amount), comma(e.balance), f"{e.day:%Y%m%d}",
         comma(e.amount), f"BEA   NR:XX1234  {e.text}"]
        for e in entries
    ]  # fmt: skip
    columns = [
        "rekening",
        "munt",
        "datum",
        "beginsaldo",
        "eindsaldo",
        "rentedatum",
        "bedrag",
        "omschrijving",
    ]
    return Export(columns, rows, set(range(8)), delimiter="\t", has_headings=False)


@bank("ing", "NL", "EUR", "nl", balances=True)
def ing(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y%m%d}", e.text, "NL12INGB0001234567", iban(random, "NL"), "BA", "Af" if e.amount < 0 else "Bij",
         comma(abs(e.amount)), "Betaalautomaat", f"Pasvolgnr: 001 {e.day:%d-%m-%Y} 12:00", comma(e.balance), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Datum",
        "Naam / Omschrijving",
        "Rekening",
        "Tegenrekening",
        "Code",
        "Af Bij",
        "Bedrag (EUR)",
        "Mutatiesoort",
        "Mededelingen",
        "Saldo na mutatie",
        "Tag",
    ]
    return Export(headings, rows, {0, 1, 5, 6, 9}, delimiter=";", is_quoted=True)


@bank("rabobank", "NL", "EUR", "nl", balances=True)
def rabobank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["NL44RABO0123456789", "EUR", "RABONL2U", f"{number:018}", f"{e.day}", f"{e.day}", comma(e.amount, plus="+"),
         comma(e.balance, plus="+"), iban(random, "NL"), e.text, "", "", "", "bc", "", "", "", "", "", e.text, " ", "", "", "", "", ""]
        for number, e in enumerate(entries, start=1)
    ]  # fmt: skip
    headings = [
        "IBAN/BBAN",
        "Munt",
        "BIC",
        "Volgnr",
        "Datum",
        "Rentedatum",
        "Bedrag",
        "Saldo na trn",
        "Tegenrekening IBAN/BBAN",
        "Naam tegenpartij",
        "Naam uiteindelijke partij",
        "Naam initiërende partij",
        "BIC tegenpartij",
        "Code",
        "Batch ID",
        "Transactiereferentie",
        "Machtigingskenmerk",
        "Incassant ID",
        "Betalingskenmerk",
        "Omschrijving-1",
        "Omschrijving-2",
        "Omschrijving-3",
        "Reden retour",
        "Oorspr bedrag",
        "Oorspr munt",
        "Koers",
    ]
    return Export(headings, rows, {4, 5, 6, 7, 9, 19}, is_quoted=True, encoding="cp1252")


@bank("swedbank", "SE", "SEK", "sv", balances=True)
def swedbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [str(number), "81059", "123456789", "Privatkonto", "SEK", f"{e.day}", f"{e.day}", f"{e.day}", e.text, e.text,
         point(e.amount), point(e.balance)]
        for number, e in enumerate(reversed(entries), start=1)
    ]  # fmt: skip
    headings = [
        "Radnummer",
        "Clearingnummer",
        "Kontonummer",
        "Produkt",
        "Valuta",
        "Bokföringsdag",
        "Transaktionsdag",
        "Valutadag",
        "Referens",
        "Beskrivning",
        "Belopp",
        "Bokfört saldo",
    ]
    above = ["* Transaktionsrapport Period 2026-01-01 – 2026-12-31 Skapad 2026-12-31 12:00 CET"]
    return Export(headings, rows, {4, 5, 6, 7, 8, 9, 10, 11}, above=above, encoding="cp1252")


@bank("seb", "SE", "SEK", "sv", balances=True)
def seb(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", str(random.randint(10**9, 10**10)), e.text, f"{comma(e.amount)}0", f"{comma(e.balance)}0"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = ["Bokföringsdatum", "Valutadatum", "Verifikationsnummer", "Text", "Belopp", "Saldo"]
    return Export(headings, rows, {0, 1, 3, 4, 5}, delimiter=";")


@bank("comdirect", "DE", "EUR", "de")
def comdirect(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", f"{e.day:%d.%m.%Y}", "Lastschrift / Belastung" if e.amount < 0 else "Übertrag / Überweisung",
         f"Auftraggeber: {e.text} Buchungstext: Kto. 123 Ref. X1", comma(e.amount, thousands="."), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Buchungstag",
        "Wertstellung (Valuta)",
        "Vorgang",
        "Buchungstext",
        "Umsatz in EUR",
        "",
    ]
    above = [";", '"Umsätze Girokonto";"Zeitraum: 01.01.2026 - 31.12.2026";', f'"Neuer Kontostand";"{comma(entries[-1].balance, thousands=".")} EUR";', ""]  # fmt: skip
    below = ["", f'"Alter Kontostand";"{comma(opening, thousands=".")} EUR";']
    return Export(
        headings,
        rows,
        {0, 1, 3, 4, 5},
        delimiter=";",
        is_quoted=True,
        above=above,
        below=below,
        encoding="cp1252",
    )


@bank("dkb", "DE", "EUR", "de")
def dkb(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%y}", f"{e.day:%d.%m.%y}", "Gebucht", "Anna Muster" if e.amount < 0 else e.text,
         e.text if e.amount < 0 else "Anna Muster", "VISA Debitkartenumsatz", "Ausgang" if e.amount < 0 else "Eingang",
         iban(random, "DE"), comma(e.amount, thousands="."), "", "", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Buchungsdatum",
        "Wertstellung",
        "Status",
        "Zahlungspflichtige*r",
        "Zahlungsempfänger*in",
        "Verwendungszweck",
        "Umsatztyp",
        "IBAN",
        "Betrag (€)",
        "Gläubiger-ID",
        "Mandatsreferenz",
        "Kundenreferenz",
    ]
    above = ['"Girokonto";"DE02120300000000202051"', '"Zeitraum:";"01.01.2026 - 31.12.2026"', f'"Kontostand vom 31.12.2026:";"{comma(entries[-1].balance, thousands=".")} €"', '""']  # fmt: skip
    return Export(
        headings, rows, {0, 1, 2, 3, 4, 5, 6, 8}, delimiter=";", is_quoted=True, above=above
    )


@bank("sparkasse", "DE", "EUR", "de")
def sparkasse(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["DE02500105170137075030", f"{e.day:%d.%m.%y}", f"{e.day:%d.%m.%y}", "KARTENZAHLUNG" if e.amount < 0 else "LOHN GEHALT",
         f"2026-01-04T10:01 Debitk.1 {e.text}", "", "", "", "", "", "", e.text, iban(random, "DE"), "COKSDE33", comma(e.amount),
         "EUR", "Umsatz gebucht"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Auftragskonto",
        "Buchungstag",
        "Valutadatum",
        "Buchungstext",
        "Verwendungszweck",
        "Glaeubiger ID",
        "Mandatsreferenz",
        "Kundenreferenz (End-to-End)",
        "Sammlerreferenz",
        "Lastschrift Ursprungsbetrag",
        "Auslagenersatz Ruecklastschrift",
        "Beguenstigter/Zahlungspflichtiger",
        "Kontonummer/IBAN",
        "BIC (SWIFT-Code)",
        "Betrag",
        "Waehrung",
        "Info",
    ]
    return Export(
        headings, rows, {1, 2, 4, 11, 14, 15, 16}, delimiter=";", is_quoted=True, encoding="cp1252"
    )


@bank("monzo", "GB", "GBP", "en")
def monzo(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"tx_0000{random.randint(10**9, 10**10)}", f"{e.day:%d/%m/%Y}", "12:34:56", "Card payment" if e.amount < 0 else "Faster payment",
         e.text, "", "Groceries" if e.amount < 0 else "Income", point(e.amount), "GBP", point(e.amount), "GBP", "", "", "",
         e.text, "", point(e.amount) if e.amount < 0 else "", point(e.amount) if e.amount > 0 else ""]
        for e in entries
    ]  # fmt: skip
    headings = [
        "Transaction ID",
        "Date",
        "Time",
        "Type",
        "Name",
        "Emoji",
        "Category",
        "Amount",
        "Currency",
        "Local amount",
        "Local currency",
        "Notes and #tags",
        "Address",
        "Receipt",
        "Description",
        "Category split",
        "Money Out",
        "Money In",
    ]
    return Export(headings, rows, {1, 4, 7, 8, 9, 10, 16, 17})


@bank("starling", "GB", "GBP", "en", balances=True)
def starling(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}", e.text, "REF 1", "CONTACTLESS" if e.amount < 0 else "FASTER PAYMENT", point(e.amount),
         point(e.balance), "SHOPPING", ""]
        for e in entries
    ]  # fmt: skip
    headings = [
        "Date",
        "Counter Party",
        "Reference",
        "Type",
        "Amount (GBP)",
        "Balance (GBP)",
        "Spending Category",
        "Notes",
    ]
    return Export(headings, rows, {0, 1, 4, 5})


@bank("barclays", "GB", "GBP", "en")
def barclays(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["     ", f"{e.day:%d/%m/%Y}", "20-00-00 12345678", point(e.amount), "PAYMENT" if e.amount < 0 else "FUNDTRANSFER", f"{e.text}   ON 04 JAN BCC"]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export(["Number", "Date", "Account", "Amount", "Subcategory", "Memo"], rows, {1, 3, 5})


@bank("pko", "PL", "PLN", "pl", balances=True)
def pko(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", "Płatność kartą" if e.amount < 0 else "Przelew na rachunek", point(e.amount, plus="+"), "PLN",
         point(e.balance, plus="+"), f"Tytuł: {e.text}", "Lokalizacja: Kraj: POLSKA", "", "", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Data operacji",
        "Data waluty",
        "Typ transakcji",
        "Kwota",
        "Waluta",
        "Saldo po transakcji",
        "Opis transakcji",
        "",
        "",
        "",
        "",
    ]
    return Export(headings, rows, {0, 1, 3, 4, 5, 6, 7}, is_quoted=True, encoding="cp1250")


@bank("mbank", "PL", "PLN", "pl")
def mbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [
            f"{e.day}",
            f"{e.text}   ",
            "eKonto 1111 ... 2222",
            "Jedzenie",
            f"{comma(e.amount, thousands=' ')} PLN",
            "",
        ]
        for e in reversed(entries)
    ]
    headings = ["#Data operacji", "#Opis operacji", "#Rachunek", "#Kategoria", "#Kwota", ""]
    above = [
        "mBank S.A. Bankowość Detaliczna;",
        "",
        "#Klient;",
        "ANNA NOWAK;",
        "",
        "Lista operacji;",
        "",
    ]
    return Export(headings, rows, {0, 1, 4, 5}, delimiter=";", above=above, encoding="utf-8-sig")


@bank("fineco", "IT", "EUR", "it")
def fineco(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}", comma(e.amount, thousands=".") if e.amount > 0 else "", comma(e.amount, thousands=".") if e.amount < 0 else "",
         "Pagamento Visa Debit" if e.amount < 0 else "Bonifico SEPA Italia", e.text, "Contabilizzato"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = ["Data", "Entrate", "Uscite", "Descrizione", "Descrizione_Completa", "Stato"]
    return Export(headings, rows, {0, 1, 2, 3, 4, 5}, delimiter=";")


@bank("boursorama", "FR", "EUR", "fr")
def boursorama(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", e.text, "Alimentation", "Vie quotidienne", e.text.lower(), comma(e.amount, thousands=" "), "", "00012345678",
         "BoursoBank", point(entries[-1].balance)]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "dateOp;dateVal;label;category;categoryParent;supplierFound;amount;comment;accountNum;accountLabel;accountbalance"
    return Export(headings.split(";"), rows, {0, 1, 2, 6, 10}, delimiter=";", is_quoted=True)


@bank("banque-postale", "FR", "EUR", "fr")
def banque_postale(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [[f"{e.day:%d/%m/%Y}", e.text, comma(e.amount)] for e in reversed(entries)]
    above = ["Numéro Compte   ;1234567X020", "Type            ;CCP", "Compte tenu en  ;euros", "Date            ;31/12/2026", f"Solde (EUROS)   ;{comma(entries[-1].balance)}", ""]  # fmt: skip
    return Export(
        ["Date", "Libellé", "Montant(EUROS)"],
        rows,
        {0, 1, 2},
        delimiter=";",
        above=above,
        encoding="cp1252",
    )


@bank("bbva", "ES", "EUR", "es", balances=True)
def bbva(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}", f"{e.day:%d/%m/%Y}", "", e.text, "Pago con tarjeta" if e.amount < 0 else "Abono", comma(e.amount, thousands="."), "EUR",
         comma(e.balance, thousands="."), "EUR", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "F. VALOR",
        "FECHA",
        "CÓDIGO",
        "CONCEPTO",
        "MOVIMIENTO",
        "IMPORTE",
        "DIVISA",
        "DISPONIBLE",
        "DIVISA",
        "OBSERVACIONES",
    ]
    return Export(headings, rows, {0, 1, 3, 4, 5, 6, 7, 8}, delimiter=";")


@bank("ubs", "CH", "CHF", "de", balances=True)
def ubs(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", "", f"{e.day}", f"{e.day}", "CHF", point(e.amount) if e.amount < 0 else "", point(e.amount) if e.amount > 0 else "", "",
         point(e.balance), f"{random.randint(10**9, 10**10)}TI", f"{e.text};Zürich", "Debitkarte", "Transaktions-Nr. 1", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Abschlussdatum",
        "Abschlusszeit",
        "Buchungsdatum",
        "Valutadatum",
        "Währung",
        "Belastung",
        "Gutschrift",
        "Einzelbetrag",
        "Saldo",
        "Transaktions-Nr.",
        "Beschreibung1",
        "Beschreibung2",
        "Beschreibung3",
        "Fussnoten",
    ]
    above = ["Kontonummer:;0234 00103914.40;", "IBAN:;CH62 0023 4234 1039 1440 C;", "Von:;2026-01-01;", "Bis:;2026-12-31;", f"Anfangssaldo:;{point(opening)};", f"Schlusssaldo:;{point(entries[-1].balance)};", "Bewertet in:;CHF;", f"Anzahl Transaktionen in diesem Zeitraum:;{len(entries)};", ""]  # fmt: skip
    return Export(
        headings, rows, {0, 2, 3, 4, 5, 6, 8, 10}, delimiter=";", above=above, encoding="utf-8-sig"
    )


@bank("postfinance", "CH", "CHF", "de")
def postfinance(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", "Buchung", f'"{e.text}"', point(e.amount) if e.amount > 0 else "", point(e.amount) if e.amount < 0 else "", "", "Einkäufe"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Datum",
        "Bewegungstyp",
        "Avisierungstext",
        "Gutschrift in CHF",
        "Lastschrift in CHF",
        "Label",
        "Kategorie",
    ]
    above = ['Datum von:;="2026-01-01"', 'Datum bis:;="2026-12-31"', "Buchungsart:;Alle Buchungen", "Konto:;=\"CH1809000000123456789\"", "Währung:;=\"CHF\"", ""]  # fmt: skip
    below = [
        "",
        "Disclaimer:",
        "Dies ist kein durch die PostFinance AG erstelltes Dokument. PostFinance haftet nicht für den Inhalt.",
    ]
    return Export(
        headings, rows, {0, 2, 3, 4}, delimiter=";", above=above, below=below, encoding="utf-8-sig"
    )

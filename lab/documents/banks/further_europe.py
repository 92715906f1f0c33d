"""Exports of further banks of Middle and Southern Europe, written from what people get there."""

from datetime import timedelta
from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import comma, further, iban, point, split
from lab.documents.banks.table import Export, Workbook


@further("zuercher-kantonalbank", "CH", "CHF", "de", balances=True)
def zuercher_kantonalbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(point(e.amount), e.amount)
        rows.append([f"{e.day:%d.%m.%Y}", e.text, "", "", f"Z{random.randint(10**8, 10**9)}", "", out, into,
                     f"{e.day:%d.%m.%Y}", point(e.balance), "", ""])  # fmt: skip
        if e.amount < -200:  # a collective order, with its parts below
            part = (e.amount / 3).quantize(Decimal("0.01"))
            rows += [
                ["", f"Auftrag {e.text}", "CHF", point(-piece), "", "", "", "", "", "", "Miete", ""]
                for piece in (part, e.amount - part)
            ]
    headings = (
        "Datum|Buchungstext|Whg|Betrag Detail|ZKB-Referenz|Referenznummer|Belastung CHF|Gutschrift CHF|Valuta|Saldo CHF"
        "|Zahlungszweck|Details"
    )
    return Export(headings.split("|"), rows, {0, 1, 6, 7, 9}, delimiter=";", is_quoted=True)


@further("raiffeisen-ch", "CH", "CHF", "de", balances=True)
def raiffeisen_ch(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    account = iban(random, "CH")
    rows = []
    for e in entries:
        day = f"{e.day} 00:00:00.0"
        rows.append([account, day, e.text, point(e.amount), point(e.balance), day])
        if random.random() < 0.2:
            rows.append(["", "", f"Mitteilung {e.text}", "", "", ""])
    headings = "IBAN|Booked At|Text|Credit/Debit Amount|Balance|Valuta Date"
    return Export(headings.split("|"), rows, {1, 2, 3, 4}, delimiter=";", encoding="cp1252")


@further("credit-suisse", "CH", "CHF", "de", balances=True)
def credit_suisse(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", e.text, *split(point(e.amount), e.amount), f"{e.day:%d.%m.%Y}", point(e.balance)]
        for e in reversed(entries)
    ]  # fmt: skip
    spent = -sum(e.amount for e in entries if e.amount < 0)
    came = sum(e.amount for e in entries if e.amount > 0)
    above = [
        "Buchungen",
        "Konto,0835-1234567-81 Privatkonto",
        f"Saldo,{point(entries[-1].balance) if entries else point(opening)}",
        "Zeitraum,01.01.2026 - 30.09.2026",
        "",
    ]
    return Export(
        "Buchungsdatum|Text|Belastung|Gutschrift|Valutadatum|Saldo".split("|"),
        rows,
        {0, 1, 2, 3, 5},
        above=above,
        below=[f"Total,,{spent:.2f},{came:.2f},,"],
    )


@further("bawag", "AT", "EUR", "de")
def bawag(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    account = iban(random, "AT")
    rows = [
        [account, f"{e.text} MC/{random.randint(10**5, 10**6)}", f"{e.day:%d.%m.%Y}", f"{e.day + timedelta(1):%d.%m.%Y}",
         comma(e.amount, thousands=".", plus="+"), "EUR"]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export(
        "konto text datum valuta betrag währung".split(), rows, set(range(6)), delimiter=";", has_headings=False
    )  # fmt: skip


@further("erste-george", "AT", "EUR", "de")
def erste(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", e.text, iban(random, "AT"), "GIBAATWWXXX", "", "", comma(e.amount, thousands="."), "EUR",
         f"{e.text} {e.day:%d.%m.} 10:11", "", "", "Konto"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Buchungsdatum|Partnername|Partner IBAN|BIC/SWIFT|Partner Kontonummer|Bankleitzahl|Betrag|Währung|Buchungs-Info"
        "|Buchungsreferenz|Notiz|Kategorie"
    )
    return Export(headings.split("|"), rows, {0, 1, 6, 7}, encoding="utf-16", is_quoted=True)


@further("raiffeisen-elba", "AT", "EUR", "de")
def raiffeisen_at(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", f"{e.text}|Auftraggeber: Anna", f"{e.day:%d.%m.%Y}", comma(e.amount), "EUR",
         f"{e.day:%d.%m.%Y} 10:11:12:123"]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export(
        "tag text valuta betrag währung zeit".split(), rows, set(range(5)), delimiter=";", has_headings=False
    )  # fmt: skip


@further("alior", "PL", "PLN", "pl")
def alior(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", f"{e.day + timedelta(1):%d-%m-%Y}", "Anna Nowak" if e.amount < 0 else e.text,
         e.text if e.amount < 0 else "Anna Nowak", "zakup", comma(e.amount), "PLN", comma(e.amount), "PLN",
         f"'{random.randint(10**20, 10**21)}", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Data transakcji|Data księgowania|Nazwa nadawcy|Nazwa odbiorcy|Szczegóły transakcji|Kwota operacji|Waluta operacji"
        "|Kwota w walucie rachunku|Waluta rachunku|Numer rachunku nadawcy|Numer rachunku odbiorcy"
    )
    # The day of the transaction is what the person sees first and what is compared.
    return Export(
        headings.split("|"),
        [[row[0], row[0], *row[2:]] for row in rows],
        {0, 1, 5, 7},
        delimiter=";",
        encoding="cp1250",
        above=["Kryteria transakcji: Wszystkie; Rachunek 12 3456"],
    )


@further("millennium-pl", "PL", "PLN", "pl", balances=True)
def millennium_pl(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"PL{random.randint(10**20, 10**21)}", f"{e.day}", f"{e.day}", "TRANSAKCJA KARTĄ", "", e.text, "zakup",
         *split(point(e.amount), e.amount, is_unsigned=False), point(e.balance), "PLN"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Numer rachunku/karty|Data transakcji|Data rozliczenia|Rodzaj transakcji|Na konto/Z konta|Odbiorca/Zleceniodawca"
        "|Opis|Obciążenia|Uznania|Saldo|Waluta"
    )
    return Export(headings.split("|"), rows, {1, 2, 5, 7, 8, 9}, is_quoted=True)


@further("santander-pl", "PL", "PLN", "pl", balances=True)
def santander_pl(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", f"{e.day:%d-%m-%Y}", e.text, "ODBIORCA", "12 1090 0000 0000 0001", comma(e.amount),
         comma(e.balance), f"{at}", ""]
        for at, e in enumerate(reversed(entries), 1)
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = [
        f'28-09-2026,01-01-2026,\'12 1090 1111,ANNA NOWAK UL. DŁUGA 1,PLN,"{comma(opening)}","{comma(closing)}",{len(rows)},'
    ]
    return Export(
        "data data tytul odbiorca konto kwota saldo lp x".split(), rows, set(range(9)), has_headings=False, above=above
    )  # fmt: skip


@further("otp", "HU", "HUF", "hu", balances=True, places=0)
def otp(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["117730161111101800000000", "T" if e.amount < 0 else "J", f"{e.amount}", "HUF", f"{e.day:%Y%m%d}",
         f"{e.day:%Y%m%d}", f"{e.balance}", "", e.text, "", "", "", "VÁSÁRLÁS KÁRTYÁVAL", ""]
        for e in entries
    ]  # fmt: skip
    return Export(
        [f"{at}" for at in range(14)], rows, set(range(14)), delimiter=";", has_headings=False, encoding="cp1250"
    )  # fmt: skip


@further("fio", "CZ", "CZK", "cs")
def fio(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{random.randint(10**10, 10**11)}", f"{e.day:%d.%m.%Y}", comma(e.amount), "CZK", "123456789", e.text, "0800",
         "Česká spořitelna", "", "1234", "", e.text, "", "Bezhotovostní platba", "Novák", "", "", "", "1"]
        for e in entries
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = [
        "accountId;2000123456", "bankId;2010", "currency;CZK", "iban;CZ7920100000002000123456", "bic;FIOBCZPPXXX",
        f"openingBalance;{comma(opening)}", f"closingBalance;{comma(closing)}", "dateStart;01.01.2026",
        "dateEnd;30.09.2026", "idFrom;1", "idTo;2", "",
    ]  # fmt: skip
    headings = (
        "ID pohybu|Datum|Objem|Měna|Protiúčet|Název protiúčtu|Kód banky|Název banky|KS|VS|SS|Uživatelská identifikace"
        "|Zpráva pro příjemce|Typ|Provedl|Upřesnění|Komentář|BIC|ID pokynu"
    )
    return Export(headings.split("|"), rows, {1, 2, 3, 5}, delimiter=";", above=above, is_quoted=True)  # fmt: skip


@further("csob", "CZ", "CZK", "cs", balances=True)
def csob(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["123456789/0300", f"{e.day:%d.%m.%Y}", comma(e.amount), "CZK", comma(e.balance), "987654321", "0800", e.text,
         "", "1234", "", "Transakce platební kartou", f"{random.randint(10**6, 10**7)}", "Místo: Praha"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "číslo účtu|datum zaúčtování|částka|měna|zůstatek|číslo účtu protistrany|kód banky protistrany"
        "|název účtu protistrany|konstantní symbol|variabilní symbol|specifický symbol|označení operace|ID transakce|poznámka"
    )
    return Export(
        headings.split("|"), rows, {1, 2, 3, 4, 7}, delimiter=";", encoding="cp1250",
        above=["Pohyby na účtu 123456789/0300 za období 01.01.2026 - 30.09.2026", ""],
    )  # fmt: skip


@further("bankinter", "ES", "EUR", "es", balances=True)
def bankinter(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [e.day, e.day, e.text, e.amount, e.balance, "EUR"] for e in reversed(entries)
    ]
    closing = entries[-1].balance if entries else opening
    above = ["MOVIMIENTOS DE LA CUENTA", "ES12 0128 0001 0203 0405 0607", f"Saldo disponible\t{comma(closing)}\tEUR", ""]  # fmt: skip
    headings = "Fecha contable|Fecha valor|Descripción|Importe|Saldo|Divisa"
    return Workbook(headings.split("|"), rows, {0, 2, 3, 4}, above=above, suffix=".xlsx")


@further("caixabank", "ES", "EUR", "es", balances=True)
def caixabank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [e.text, f"{e.day:%d/%m/%Y}", comma(e.amount, thousands=".") + "EUR", comma(e.balance, thousands=".") + "EUR"]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export("Concepto Fecha Importe Saldo".split(), rows, set(range(4)), delimiter=";")


@further("millennium-bcp", "PT", "EUR", "pt", balances=True)
def millennium_bcp(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", f"{e.day:%d-%m-%Y}", e.text, point(e.amount), point(e.balance)]
        for e in reversed(entries)
    ]
    above = ["Millennium bcp", "Conta\t0000012345678 - EUR", "Movimentos de conta", "Período\t01-01-2026\t30-09-2026", ""]  # fmt: skip
    headings = "Data lançamento|Data valor|Descrição|Montante|Saldo"
    return Export(
        headings.split("|"), rows, {0, 2, 3, 4}, delimiter="\t", encoding="utf-16", above=above,
        below=["", "Os valores apresentados não dispensam a consulta do extrato"],
    )  # fmt: skip


@further("caixa-geral", "PT", "EUR", "pt", balances=True)
def caixa_geral(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", f"{e.day:%d-%m-%Y}", f"{e.text} ", *split(comma(e.amount, thousands="."), e.amount),
         comma(e.balance, thousands="."), comma(e.balance, thousands="."), "Diversos ", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = [
        "Consultar saldos e movimentos à ordem - 30-09-2026 ", "", "Conta ;0123012345600 - EUR - Conta Extracto ",
        "Data de início ;01-01-2026", "Data de fim ;30-09-2026", "",
    ]  # fmt: skip
    headings = "Data mov. |Data valor |Descrição |Débito |Crédito |Saldo contabilístico |Saldo disponível |Categoria |"
    return Export(
        headings.split("|"), rows, {0, 2, 3, 4, 5}, delimiter=";", encoding="cp1252", above=above,
        below=[f" ; ; ; ;Saldo contabilístico ;{comma(closing, thousands='.')} EUR ; ; ;"],
    )  # fmt: skip


@further("kbc", "BE", "EUR", "nl", balances=True)
def kbc(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["BE68539007547034", "KBC-Plusrekening", "ANNA JANSSENS", "EUR", f" 0{e.day:%Y}0{e.day:%m}", f"{e.day:%d/%m/%Y}",
         f"BETALING {e.text}", f"{e.day:%d/%m/%Y}", comma(e.amount), comma(e.balance),
         comma(e.amount) if e.amount > 0 else "", comma(e.amount) if e.amount < 0 else "", iban(random, "BE"), "KREDBEBB",
         e.text, "", "", "factuur", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Rekeningnummer|Rubrieknaam|Naam|Munt|Afschriftnummer|Datum|Omschrijving|Valuta|Bedrag|Saldo|credit|debet"
        "|rekeningnummer tegenpartij|BIC tegenpartij|Naam tegenpartij|Adres tegenpartij|gestructureerde mededeling"
        "|Vrije mededeling|"
    )
    return Export(headings.split("|"), rows, {3, 5, 6, 8, 9}, delimiter=";", encoding="cp1252")


@further("belfius", "BE", "EUR", "nl")
def belfius(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["BE10063123456789", f"{e.day:%d/%m/%Y}", "1", f"{at}", iban(random, "BE"), e.text, "Kerkstraat 1", "9000 Gent",
         f"AANKOOP {e.text} REF. : 0912 VAL. {e.day:%d-%m}", f"{e.day:%d/%m/%Y}", comma(e.amount), "EUR", "GKCCBEBB", "BE", ""]
        for at, e in enumerate(reversed(entries), 1)
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = [
        "Boekingsdatum vanaf;01/01/2026", "Boekingsdatum tot en met;30/09/2026", "Bedrag vanaf;", "Bedrag tot en met;",
        "Rekeninguittrekselnummer vanaf;", "Rekeninguittrekselnummer tot en met;", "Mededeling;",
        "Naam tegenpartij bevat;", "Rekening tegenpartij;", f"Laatste saldo;{comma(closing, thousands='.')} EUR",
        "Datum/uur van het laatste saldo;30/09/2026 10:11:12", ";",
    ]  # fmt: skip
    headings = (
        "Rekening|Boekingsdatum|Rekeninguittrekselnummer|Transactienummer|Rekening tegenpartij|Naam tegenpartij bevat"
        "|Straat en nummer|Postcode en plaats|Transactie|Valutadatum|Bedrag|Devies|BIC|Landcode|Mededelingen"
    )
    return Export(
        headings.split("|"), rows, {1, 5, 10, 11}, delimiter=";", encoding="cp1252", above=above
    )


@further("bunq", "NL", "EUR", "nl")
def bunq(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", comma(e.amount, thousands="."), "NL12BUNQ0123456789", iban(random, "NL"), e.text,
         f"{e.text} 's-Gravenhage, NL"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Date|Interest Date|Amount|Account|Counterparty|Name|Description"
    return Export(headings.split("|"), rows, {0, 2, 5}, is_quoted=True)

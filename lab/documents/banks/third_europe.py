"""The third set: banks of Europe, from Iceland to the Black Sea."""

from datetime import timedelta
from decimal import Decimal
from functools import partial
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import THIRD, comma, iban, late, point, split
from lab.documents.banks.table import Export, Workbook

third = partial(late, THIRD)


@third("nbg", "GR", "EUR", "el")
def nbg(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{at}", f"{e.day:%d/%m/%Y}", "10:22", "089", e.day.strftime("%d/%m/%Y"), comma(abs(e.amount), thousands="."), "Χ" if e.amount < 0 else "Π", e.text, "EUR"]
        for at, e in enumerate(reversed(entries), 1)
    ]  # fmt: skip
    headings = "Α/Α Συναλλαγής|Ημερομηνία|Ώρα|Κατάστημα|Valeur|Ποσό συναλλαγής|Χρέωση / Πίστωση|Περιγραφή|Νόμισμα"
    return Export(headings.split("|"), rows, {1, 5, 6, 7}, delimiter=";", encoding="cp1253")


@third("ing-pl", "PL", "PLN", "pl", balances=True)
def ing_pl(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y-%m-%d}", f"{e.day:%Y-%m-%d}", e.text, "Płatność kartą" if e.amount < 0 else "Przelew", f"'{random.randint(10**25, 10**26)} '", "ING Bank Śląski",
                     "TR.KART", f"'{random.randint(10**9, 10**10)}'", comma(e.amount), "PLN", "", "", "", "", "KONTO Direct", comma(e.balance), "PLN", "", "", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    if entries:
        day = entries[-1].day
        rows.insert(0, [f"{day:%Y-%m-%d}", "", "Biedronka 123", "Blokada", "", "", "", "", "", "", comma(Decimal("-45.30")), "PLN", "", "", "KONTO Direct", "", "", "", "", ""])  # fmt: skip
    above = ["Lista transakcji;", "", "Dokument nr 0001234567_011126;", "Wygenerowany dnia 2026-11-01, 10:20;", "ING Bank Śląski S.A.;", "", "Wybrane rachunki:;",
             "KONTO Direct (PLN);12 1050 1234 1000 0012 3456 7890;", ""]  # fmt: skip
    below = ["", "Dokument ma charakter informacyjny, nie stanowi dowodu księgowego;"]
    headings = "Data transakcji|Data księgowania|Dane kontrahenta|Tytuł|Nr rachunku|Nazwa banku|Szczegóły|Nr transakcji|Kwota transakcji (waluta rachunku)|Waluta|Kwota blokady/zwolnienie blokady|Waluta|Kwota płatności w walucie|Waluta|Konto|Saldo po transakcji|Waluta|||"
    return Export(headings.split("|"), rows, {0, 1, 2, 8, 10, 15}, delimiter=";", encoding="cp1250", above=above, below=below)  # fmt: skip


@third("komercni", "CZ", "CZK", "cs", scale=20)
def komercni(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", f"{e.day:%d.%m.%Y}", f"123456789{random.randint(0, 9)}/0100", e.text, comma(e.amount), "", "", "", "123", "", "0308", f"KB{random.randint(10**6, 10**7)}", "Úhrada"]
        for e in reversed(entries)
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = ["MojeBanka, export transakcni historie", "Datum vytvoreni souboru;01.11.2026", "", "Cislo uctu;12-3456789012", "Mena uctu;CZK", "Nazev uctu;NOVAK JAN",
             f"Pocatecni zustatek;{comma(opening)}", f"Konecny zustatek;{comma(closing)}", ""]  # fmt: skip
    headings = "Datum splatnosti|Datum odepsani z jine banky|Protiucet/Kod banky|Nazev protiuctu|Castka|Originalni castka|Originalni mena|Kurz|VS|KS|SS|Identifikace transakce|Systemovy popis"
    return Export(
        headings.split("|"), rows, {0, 3, 4}, delimiter=";", encoding="cp1250", above=above
    )


@third("erste-hu", "HU", "HUF", "hu", balances=True, scale=400)
def erste_hu(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y.%m.%d}.", f"{e.day:%Y.%m.%d}.", e.text, iban(random, "HU"), comma(e.amount, thousands="\u00a0"), "HUF", comma(e.balance, thousands="\u00a0")]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Tranzakció dátuma|Könyvelés dátuma|Partner név|Partner számla|Összeg|Devizanem|Könyvelt egyenleg"
    return Export(headings.split("|"), rows, {0, 2, 4, 6}, delimiter=";", encoding="utf-8-sig")


@third("sberbank", "RU", "RUB", "ru", balances=True, scale=50)
def sberbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day - timedelta(days=1):%d.%m.%Y} 12:1{random.randint(0, 9)}", f"{e.day:%d.%m.%Y}", f"{random.randint(10**5, 10**6 - 1)}", "Супермаркеты" if e.amount < 0 else "Зачисления", e.text,
         ("+" if e.amount > 0 else "") + comma(abs(e.amount), thousands=" "), comma(e.balance, thousands=" ")]
        for e in reversed(entries)
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = ["Выписка по счёту дебетовой карты", "Владелец счёта\tИванов Иван Иванович", f"Остаток на начало периода\t{comma(opening, thousands=' ')}",
             f"Остаток на конец периода\t{comma(closing, thousands=' ')}", ""]  # fmt: skip
    headings = "Дата операции (МСК)|Дата обработки|Код авторизации|Категория|Описание операции|Сумма в валюте счёта|Остаток средств"
    return Workbook(
        headings.split("|"),
        rows,
        {0, 1, 4, 5, 6},
        above=above,
        below=["", "Дергунова К. А."],
        suffix=".xlsx",
    )


@third("yapi-kredi", "TR", "TRY", "tr", balances=True, scale=20)
def yapi_kredi(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d/%m/%Y}", f"{random.randint(8, 22):02}:14:05", "Encard Harcama" if e.amount < 0 else "Gelen EFT", "Diğer", f"{random.randint(10**7, 10**8)}", e.text,
         comma(e.amount, thousands=".") + " TL", comma(e.balance, thousands=".") + " TL"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Tarih|Saat|İşlem|Kanal|Referans No|Açıklama|Tutar|Bakiye"
    above = ["YAPI VE KREDİ BANKASI A.Ş.", "HESAP HAREKETLERİ", "Müşteri Adı\tAYŞE YILMAZ", ""]
    return Workbook(headings.split("|"), rows, {0, 5, 6, 7}, above=above, suffix=".xlsx")


@third("handelsbanken", "SE", "SEK", "sv", balances=True, scale=10)
def handelsbanken(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [e.day, e.day, e.text, e.amount, e.balance] for e in reversed(entries)
    ]
    if entries:
        rows.insert(0, ["", entries[-1].day, "Prel ICA Nära", Decimal("-89.00"), ""])
    above = ["Handelsbanken", "Kontoutdrag\t2026-11-01", "Konto: Allkonto, 123 456 789", f"Kontoform\tSaldo\t{entries[-1].balance if entries else opening}", ""]  # fmt: skip
    headings = "Reskontradatum|Transaktionsdatum|Text|Belopp|Saldo"
    return Workbook(headings.split("|"), rows, {0, 1, 2, 3, 4}, above=above, suffix=".xlsx")


@third("nordea-dk", "DK", "DKK", "da", balances=True, scale=8)
def nordea_dk(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y/%m/%d}", comma(e.amount), "12345678901" if e.amount < 0 else "", "" if e.amount < 0 else "12345678901", "", e.text, comma(e.balance), "DKK", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    rows.insert(0, ["Reserveret", "-125,00", "", "", "", "Føtex Vesterbro", "", "DKK", ""])
    headings = "Bogføringsdato|Beløb|Afsender|Modtager|Navn|Beskrivelse|Saldo|Valuta|Afstemt"
    return Export(headings.split("|"), rows, {0, 1, 5, 6}, delimiter=";", encoding="utf-8-sig")


@third("swedbank-ee", "EE", "EUR", "et")
def swedbank_ee(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    own = "EE382200221020145685"
    rows = [
        [own, "20", f"{e.day:%d.%m.%Y}", "ACME" if e.amount > 0 else e.text, e.text, comma(abs(e.amount)), "EUR", "D" if e.amount < 0 else "K", f"2026{random.randint(10**11, 10**12)}",
         "K" if e.amount < 0 else "MK", "", ""]
        for e in entries
    ]  # fmt: skip
    first, last = (entries[0].day, entries[-1].day) if entries else ("", "")
    closing = entries[-1].balance if entries else opening
    out, into = -sum(e.amount for e in entries if e.amount < 0), sum(e.amount for e in entries if e.amount > 0)  # fmt: skip
    rows.insert(
        0,
        [
            own,
            "10",
            f"{first:%d.%m.%Y}",
            "",
            "Algsaldo",
            comma(opening),
            "EUR",
            "K",
            "",
            "AS",
            "",
            "",
        ],
    )
    rows.append(
        [
            own,
            "82",
            f"{last:%d.%m.%Y}",
            "",
            "Käive",
            comma(Decimal(out)),
            "EUR",
            "D",
            "",
            "K2",
            "",
            "",
        ]
    )
    rows.append(
        [
            own,
            "82",
            f"{last:%d.%m.%Y}",
            "",
            "Käive",
            comma(Decimal(into)),
            "EUR",
            "K",
            "",
            "K2",
            "",
            "",
        ]
    )
    rows.append(
        [
            own,
            "86",
            f"{last:%d.%m.%Y}",
            "",
            "Lõppsaldo",
            comma(closing),
            "EUR",
            "K",
            "",
            "LS",
            "",
            "",
        ]
    )
    headings = "Kliendi konto|Reatüüp|Kuupäev|Saaja/Maksja|Selgitus|Summa|Valuuta|Deebet/Kreedit|Arhiveerimistunnus|Makse tüüp|Viitenumber|Dokumendi number"
    return Export(headings.split("|"), rows, {1, 2, 4, 5, 7}, delimiter=";", is_quoted=True)


@third("privatbank", "UA", "UAH", "uk", balances=True, scale=20)
def privatbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = []
    for e in reversed(entries):
        is_foreign = e.amount < 0 and random.random() < 0.3
        rows.append([f"{e.day:%d.%m.%Y} 10:11:12", "Продукти" if e.amount < 0 else "Поповнення", "**** 1234", e.text, e.amount, "UAH",
                     (e.amount / 41).quantize(Decimal("0.01")) if is_foreign else e.amount, "USD" if is_foreign else "UAH", e.balance, "UAH"])  # fmt: skip
    headings = "Дата|Категорія|Картка|Опис операції|Сума в валюті картки|Валюта картки|Сума в валюті транзакції|Валюта транзакції|Залишок на кінець періоду|Валюта залишку"
    return Workbook(headings.split("|"), rows, {0, 3, 4, 8}, above=["Виписка з Ваших карток за період 01.01.2026 - 31.10.2026"], suffix=".xlsx")  # fmt: skip


@third("banca-transilvania", "RO", "RON", "ro", balances=True)
def transilvania(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(point(e.amount, thousands=","), e.amount, is_unsigned=False)
        rows.append([f"{e.day:%Y-%m-%d}", f"{e.day:%Y-%m-%d}", f"{e.text};REF: {random.randint(10**8, 10**9)}", f"{random.randint(10**8, 10**9)}PCARD", out, into, point(e.balance, thousands=",")])  # fmt: skip
    above = [
        "Informatii cont",
        "Numar cont,RO49BTRLRONCRT0123456789",
        "Cont,Cont curent RON",
        "Perioada,01/01/2026-31/10/2026",
        "",
    ]
    headings = (
        "Data tranzactie|Data valuta|Descriere|Referinta tranzactiei|Debit|Credit|Sold contabil"
    )
    return Export(headings.split("|"), rows, {0, 2, 4, 5, 6}, above=above)


@third("credit-agricole", "FR", "EUR", "fr")
def credit_agricole(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(comma(e.amount, thousands="\u00a0"), e.amount)
        kind = "PAIEMENT PAR CARTE" if e.amount < 0 else "VIREMENT EN VOTRE FAVEUR"
        rows.append(
            [
                f"{e.day:%d/%m/%Y}",
                f"{kind}          \n{e.text}\n{random.randint(10**6, 10**7)}",
                out,
                into,
                "",
            ]
        )
    closing = comma(entries[-1].balance if entries else opening, thousands="\u00a0")
    above = ["Téléchargement du 01/11/2026;", "", "M. MARTIN JEAN;", "Compte Chèques carte n° 12345678901;", f"Solde au 31/10/2026 {closing} €;", "", "Liste des opérations du compte entre le 01/01/2026 et le 31/10/2026;", ""]  # fmt: skip
    headings = "Date|Libellé|Débit euros|Crédit euros|"
    return Export(
        headings.split("|"), rows, {0, 1, 2, 3}, delimiter=";", encoding="latin-1", above=above
    )


@third("degiro", "NL", "EUR", "nl", balances=True)
def degiro(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", "09:05", f"{e.day:%d-%m-%Y}", "", "", "iDEAL Deposit" if e.amount > 0 else f"Terugstorting {e.text}", "", "EUR", comma(e.amount), "EUR", comma(e.balance), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Datum|Tijd|Valutadatum|Product|ISIN|Omschrijving|FX|Mutatie||Saldo||Order Id"
    return Export(headings.split("|"), rows, {0, 5, 7, 8, 9, 10})

"""Exports of further banks of the North, of Turkey, Russia and Israel."""

from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import comma, further, point, split
from lab.documents.banks.table import Export, Workbook


@further("nordea-fi", "FI", "EUR", "fi", balances=True)
def nordea(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y/%m/%d}", comma(e.amount), "FI12 3456" if e.amount < 0 else "", "" if e.amount < 0 else "FI12 3456",
         e.text, e.text, "", "", comma(e.balance), "EUR"]
        for e in reversed(entries)
    ]  # fmt: skip
    rows.insert(0, ["Varaus", "-12,90", "", "", "", "Varaus WOLT HELSINKI", "", "", "", "EUR"])
    headings = (
        "Kirjauspäivä|Määrä|Maksaja|Maksunsaaja|Nimi|Otsikko|Viesti|Viitenumero|Saldo|Valuutta"
    )
    return Export(headings.split("|"), rows, {0, 1, 5, 8}, delimiter=";", encoding="utf-8-sig")


@further("op-fi", "FI", "EUR", "fi")
def op(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", comma(e.amount), "162", "PKORTTIMAKSU", e.text, "", "", "ref=", "Viesti:", f"{e.day:%Y%m%d}/5"]
        for e in entries
    ]  # fmt: skip
    headings = (
        "Kirjauspäivä|Arvopäivä|Määrä EUROA|Laji|Selitys|Saaja/Maksaja|Saajan tilinumero|Saajan pankin BIC|Viite|Viesti"
        "|Arkistointitunnus"
    )
    return Export(headings.split("|"), rows, {0, 2, 5}, delimiter=";", is_quoted=True)


@further("danske", "DK", "DKK", "da", balances=True)
def danske(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", e.text, comma(e.amount, thousands="."), comma(e.balance, thousands="."), "Udført", "Nej"]
        for e in entries
    ]  # fmt: skip
    rows.append(["30.09.2026", "Kommende husleje", "-7.500,00", "", "Venter", "Nej"])
    headings = "Dato|Tekst|Beløb|Saldo|Status|Afstemt"
    return Export(headings.split("|"), rows, {0, 1, 2, 3, 4}, delimiter=";", encoding="cp1252", is_quoted=True)  # fmt: skip


@further("dnb", "NO", "NOK", "nb")
def dnb(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", e.text, f"{e.day:%d.%m.%Y}", *split(point(e.amount), e.amount)]
        for e in reversed(entries)
    ]
    headings = "Dato|Forklaring|Rentedato|Ut fra konto|Inn på konto"
    return Export(headings.split("|"), rows, {0, 1, 3, 4}, delimiter=";", encoding="cp1252", is_quoted=True)  # fmt: skip


@further("sparebank-1", "NO", "NOK", "nb")
def sparebank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(comma(e.amount), e.amount, is_unsigned=False)
        rows.append([f"{e.day:%d.%m.%Y}", e.text, f"{e.day:%d.%m.%Y}", into, out, "", "1234 56 78901", ""])  # fmt: skip
    headings = "Dato|Beskrivelse|Rentedato|Inn|Ut|Til konto|Fra konto|"
    return Export(headings.split("|"), rows, {0, 1, 3, 4}, delimiter=";", encoding="utf-8-sig")


@further("garanti", "TR", "TRY", "tr", balances=True)
def garanti(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d/%m/%Y}", e.text, "Diğer", e.amount, e.balance, f"{random.randint(10**5, 10**6)}"]
        for e in reversed(entries)
    ]  # fmt: skip
    above = ["T. GARANTİ BANKASI A.Ş.", "HESAP HAREKETLERİ", "", "Hesap:\t123 - 4567890 TL", "Tarih Aralığı:\t01/01/2026 - 30/09/2026", ""]  # fmt: skip
    headings = "Tarih|Açıklama|Etiket|Tutar|Bakiye|Dekont No"
    return Workbook(headings.split("|"), rows, {0, 1, 3, 4}, above=above, suffix=".xlsx")


@further("is-bankasi", "TR", "TRY", "tr", balances=True)
def is_bankasi(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}-10:11:12", "Şube", comma(e.amount, thousands="."), comma(e.balance, thousands="."), "", "POS", e.text]
        for e in entries
    ]  # fmt: skip
    headings = "Tarih/Saat|Kanal/Şube|İşlem Tutarı*|Bakiye|Ek Bakiye|İşlem|Açıklama"
    return Export(
        headings.split("|"), rows, {0, 2, 3, 6}, delimiter=";", encoding="cp1254",
        above=["Hesap Özeti", "Müşteri;ANNA YILMAZ", "Para Birimi;TL", ""],
        below=["", "*(-) işareti borç hareketini gösterir"],
    )  # fmt: skip


@further("tinkoff", "RU", "RUB", "ru")
def tinkoff(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y} 10:11:12", f"{e.day:%d.%m.%Y}", "*1234", "OK", comma(e.amount), "RUB", comma(e.amount), "RUB",
         "", "Супермаркеты", "5411", e.text, "0,00", "0,00", comma(abs(e.amount))]
        for e in reversed(entries)
    ]  # fmt: skip
    rows.insert(
        len(rows) // 2,
        ["03.02.2026 10:11:12", "", "*1234", "FAILED", "-990,00", "RUB", "-990,00", "RUB", "", "Разное", "5999", "OZON", "0,00", "0,00", "990,00"],
    )  # fmt: skip
    headings = (
        "Дата операции|Дата платежа|Номер карты|Статус|Сумма операции|Валюта операции|Сумма платежа|Валюта платежа|Кэшбэк"
        "|Категория|MCC|Описание|Бонусы (включая кэшбэк)|Округление на инвесткопилку|Сумма операции с округлением"
    )
    return Export(headings.split("|"), rows, {0, 3, 4, 6, 11}, delimiter=";", encoding="cp1251", is_quoted=True)  # fmt: skip


@further("leumi", "IL", "ILS", "he", balances=True)
def leumi(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = []
    for e in reversed(entries):
        out, into = (-e.amount, "") if e.amount < 0 else ("", e.amount)
        rows.append([f"{e.day:%d/%m/%y}", f"{e.day:%d/%m/%y}", e.text, "99012", out, into, e.balance, ""])  # fmt: skip
    above = ["תנועות בחשבון", "חשבון:\t800-12345/67", "תקופה:\t01/01/26 - 30/09/26", ""]
    headings = 'תאריך|תאריך ערך|תיאור|אסמכתא|בחובה|בזכות|היתרה בש"ח|הערה'
    return Workbook(headings.split("|"), rows, {0, 2, 4, 5, 6}, above=above, suffix=".xlsx")


@further("isracard", "IL", "ILS", "he")
def isracard(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d.%m.%y}", e.text, -e.amount, "₪", -e.amount, "₪", f"{random.randint(10**8, 10**9)}", ""]
        for e in entries
    ]  # fmt: skip
    total = -sum(e.amount for e in entries)
    headings = "תאריך רכישה|שם בית עסק|סכום עסקה|מטבע עסקה|סכום חיוב|מטבע חיוב|מס' שובר|פירוט נוסף"
    return Workbook(
        headings.split("|"), rows, {0, 1, 2, 4},
        above=["פירוט עסקאות", "מסטרקארד זהב - 1234\t\tמועד חיוב\t10/10/2026", "עסקאות בארץ"],
        below=[f'\tסה"כ לחיוב\t\t\t{total}\t₪'], suffix=".xlsx",
    )  # fmt: skip

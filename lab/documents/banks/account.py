"""A month of an account: what happened, in the currency and language of a bank."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random

SHOPS = {
    "en": ("TESCO STORES 3344", "TRANSPORT FOR LONDON", "AMZN Mktp*2K4", "Netflix.com", "REPORT MAGAZINE", "Shell 42"),
    "de": ("REWE Markt GmbH", "Stadtwerke München", "Deutsche Bahn AG", "Summe Moden", "Telekom, Rechnung 12"),
    "nl": ("Albert Heijn 1521", "NS Reizigers", "Bol.com B.V.", "Ziggo Services"),
    "sv": ("ICA Maxi Örebro", "SJ AB", "Telia Sverige", "Överföring Åsa"),
    "fr": ("CARTE 04/01 CARREFOUR", "PRLV SEPA EDF", "SNCF INTERNET", "VIR LOYER"),
    "es": ("Mercadona", "Recibo Endesa", "Renfe viajeros", "Bizum a María"),
    "it": ("Esselunga Milano", "Bolletta Enel", "Trenitalia", "Bonifico a Rossi"),
    "pl": ("Żabka Z1234", "Orlen stacja 7", "Przelew na konto", "Opłata za kartę"),
    "pt": ("Padaria São João", "Pix enviado - José", "Uber *TRIP", "Conta de luz"),
    "ja": ("セブンイレブン", "電気料金", "家賃", "スイカ"),
    "zh": ("超市购物", "水电费", "房租", "地铁"),
    "hu": ("SPAR MAGYARORSZÁG", "MÁV Zrt. jegy", "Közüzemi díj", "Átutalás Nagy Éva"),
    "cs": ("Albert hypermarket", "ČEZ Prodej", "Platba kartou Kaufland", "Nájem Žižkov"),
    "nb": ("REMA 1000 Grünerløkka", "Vipps Kåre", "Strøm Hafslund", "Ruter app"),
    "fi": ("K-Market Töölö", "VR Matkat", "Sähkölasku Fortum", "Vuokra Hämeentie"),
    "da": ("Netto Nørrebro", "DSB billet", "El Ørsted", "MobilePay Søren"),
    "tr": ("MİGROS TİC A.Ş.", "Elektrik faturası", "Kira ödemesi", "Toplam Market"),
    "ru": ("Пятёрочка", "Яндекс Такси", "Перевод Ивану", "Оплата ЖКХ"),
    "he": ("שופרסל דיל", "חברת חשמל", "רכבת ישראל", "ביט העברה"),
    "th": ("เซเว่น อีเลฟเว่น", "ค่าไฟฟ้า", "โอนเงิน", "ค่าเช่า"),
    "ar": ("كارفور الرياض", "شركة الكهرباء", "إيجار", "أوبر"),
    "ko": ("스타벅스강남", "한국전력공사", "월세이체", "GS25 역삼점"),
    "vi": ("Thanh toán Bách Hóa Xanh", "Tiền điện EVN", "Chuyển khoản tiền nhà", "Grab VN"),
    "el": ("ΣΚΛΑΒΕΝΙΤΗΣ ΑΘΗΝΑ", "ΔΕΗ ΛΟΓΑΡΙΑΣΜΟΣ", "Ενοίκιο Μαρτίου", "WOLT GR"),
    "uk": ("Сільпо Київ", "Оплата комунальних", "Переказ Олені", "Нова пошта"),
    "id": ("TRSF E-BANKING DB INDOMARET", "PLN PRABAYAR", "SEWA RUMAH", "GOJEK"),
    "ro": ("Plata la POS MEGA IMAGE", "Factura ENEL", "Transfer chirie", "Uber Bucuresti"),
    "is": ("Bónus Laugavegi", "Orkuveita Reykjavíkur", "Húsaleiga", "Strætó"),
    "et": ("Rimi Tallinn", "Eesti Energia AS", "Üür", "Bolt taksosõit"),
}  # fmt: skip
INCOME = {
    "en": ("SALARY ACME LTD", "Refund Zalando"), "de": ("Gehalt ACME GmbH", "Erstattung Finanzamt"),
    "nl": ("Salaris ACME BV", "Belastingdienst teruggave"), "sv": ("Lön ACME AB", "Skatteverket"),
    "fr": ("VIR SALAIRE ACME", "VIR REMBOURSEMENT"), "es": ("Nómina ACME", "Devolución Zara"),
    "it": ("Stipendio ACME", "Rimborso 730"), "pl": ("Wynagrodzenie ACME", "Zwrot podatku"),
    "pt": ("Salário ACME", "Pix recebido - Ana"), "ja": ("給与振込", "返金"), "zh": ("工资", "退款"),
    "hu": ("Munkabér ACME", "Visszatérítés"), "cs": ("Mzda ACME", "Vrácení platby"), "nb": ("Lønn ACME AS", "Tilbakebetaling"),
    "fi": ("Palkka ACME Oy", "Palautus"), "da": ("Løn ACME A/S", "Refusion"), "tr": ("MAAŞ ACME", "İade Trendyol"),
    "ru": ("Зарплата ООО АКМЕ", "Возврат"), "he": ("משכורת אקמה", "זיכוי"), "th": ("เงินเดือน", "คืนเงิน"),
    "ar": ("راتب شركة", "استرداد"), "ko": ("급여", "환불"), "vi": ("Lương tháng", "Hoàn tiền"), "el": ("ΜΙΣΘΟΔΟΣΙΑ ΑΚΜΕ", "Επιστροφή φόρου"),
    "uk": ("Зарплата ТОВ АКМЕ", "Повернення коштів"), "id": ("GAJI PT ACME", "PENGEMBALIAN DANA"), "ro": ("Salariu ACME SRL", "Retur eMAG"),
    "is": ("Laun ACME ehf", "Endurgreiðsla"), "et": ("Palk ACME OÜ", "Tagasimakse"),
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One booking: `amount` is negative where money leaves, `balance` is what is there afterwards."""

    day: date
    text: str
    amount: Decimal
    balance: Decimal
    is_income: bool


def month(
    random: Random, language: str, *, places: int = 2, scale: int = 1
) -> tuple[Decimal, list[Entry]]:
    """The opening balance and the bookings of one month, oldest first; `scale` is for small units of money."""
    unit = Decimal(1).scaleb(-places)
    opening = (Decimal(random.randint(100_000, 900_000)) * scale / 100).quantize(unit)
    balance, day = opening, date(2026, random.randint(1, 9), 1)
    entries = []
    for number in range(random.randint(1 if random.random() < 0.1 else 4, 24)):
        day += timedelta(days=random.choice((0, 0, 1, 1, 2, 3)))
        is_income = number == 1 or random.random() < 0.15
        cents = random.randint(90_000, 400_000) if is_income else random.randint(99, 45_000)
        amount = (Decimal(cents) * scale / 100).quantize(unit) * (1 if is_income else -1)
        if not amount:
            continue
        balance += amount
        text = random.choice((INCOME if is_income else SHOPS)[language])
        entries.append(Entry(day, text, amount, balance, is_income))
    return opening, entries

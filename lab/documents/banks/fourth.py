"""The fourth set: twenty layouts of other shapes, written with the third and not measured before the reader was mended."""

from datetime import timedelta
from decimal import Decimal
from functools import partial
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import FOURTH, comma, late, point, split
from lab.documents.banks.table import Export, Workbook
from lab.documents.banks.third_asia import THAI_MONTHS, whole
from lab.documents.banks.third_world import dollars

fourth = partial(late, FOURTH)


@fourth("hyundai-card", "KR", "KRW", "ko", places=0, scale=1000)
def hyundai_card(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%Y년 %m월 %d일}", "12:30", "본인 M포인트", e.text, whole(-e.amount), "일시불", f"{random.randint(10**7, 10**8)}", "승인취소" if e.amount > 0 else "정상"]
        for e in reversed(entries)
    ]  # fmt: skip
    total = whole(-sum((e.amount for e in entries), Decimal(0)))
    headings = "이용일|이용시간|이용카드|이용하신곳|이용금액|할부개월|승인번호|상태"
    return Workbook(
        headings.split("|"),
        rows,
        {0, 3, 4, 7},
        above=["카드 이용내역", ""],
        below=[f"합계\t\t\t\t{total}"],
        suffix=".xlsx",
    )


@fourth("techcombank", "VN", "VND", "vi", balances=True, places=0, scale=20000)
def techcombank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [
            f"{e.day:%d/%m/%Y}",
            e.text,
            f"FT{random.randint(10**9, 10**10)}",
            *split(whole(e.amount, "."), e.amount),
            whole(e.balance, "."),
        ]
        for e in reversed(entries)
    ]
    headings = "Ngày|Diễn giải|Số bút toán|Nợ|Có|Số dư"
    return Export(headings.split("|"), rows, {0, 1, 3, 4, 5}, encoding="utf-8-sig")


@fourth("mandiri", "ID", "IDR", "id", balances=True, scale=10000)
def mandiri(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    months = "Jan Feb Mar Apr Mei Jun Jul Agu Sep Okt Nov Des".split()
    rows = []
    for e in entries:
        out, into = split(comma(e.amount, thousands="."), e.amount)
        rows.append(
            [
                f"{e.day.day:02} {months[e.day.month - 1]} {e.day.year}",
                e.text,
                "",
                out or "0,00",
                into or "0,00",
                comma(e.balance, thousands="."),
            ]
        )
    headings = "Tanggal|Keterangan|Referensi|Debit|Kredit|Saldo"
    closing = entries[-1].balance if entries else opening
    return Export(
        headings.split("|"),
        rows,
        {0, 1, 3, 4, 5},
        delimiter=";",
        below=[f";Saldo Akhir;;;;{comma(closing, thousands='.')}"],
    )


@fourth("bangkok-bank", "TH", "THB", "th", balances=True)
def bangkok_bank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        day = f"{e.day.day} {THAI_MONTHS[e.day.month - 1]} {(e.day.year + 543) % 100}"
        rows.append(
            [
                day,
                "TRF" if e.amount < 0 else "SAL",
                e.text,
                *split(point(e.amount, thousands=","), e.amount),
                point(e.balance, thousands=","),
                "mPhone",
            ]
        )
    headings = "วันที่|รายการ|รายละเอียด|ถอนเงิน|ฝากเงิน|ยอดคงเหลือ|ช่องทาง"
    return Export(headings.split("|"), rows, {0, 2, 3, 4, 5}, encoding="cp874")


@fourth("punjab-national", "IN", "INR", "en", balances=True)
def punjab(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"S{random.randint(10**7, 10**8)}", f"{e.day:%d/%m/%Y}", e.text, "", *split(point(e.amount, thousands=","), e.amount), point(abs(e.balance), thousands=",") + (" Cr." if e.balance >= 0 else " Dr."), "UPI"]
        for e in reversed(entries)
    ]  # fmt: skip
    out, into = -sum(e.amount for e in entries if e.amount < 0), sum(e.amount for e in entries if e.amount > 0)  # fmt: skip
    rows.append(
        [
            "",
            "",
            "Page Total:",
            "",
            point(Decimal(out), thousands=","),
            point(Decimal(into), thousands=","),
            "",
            "",
        ]
    )
    headings = "Txn No.|Txn Date|Description|Cheque No.|Dr Amount|Cr Amount|Balance|Remarks"
    return Export(headings.split("|"), rows, {1, 2, 4, 5, 6}, is_quoted=True)


@fourth("wechat-pay", "CN", "CNY", "zh")
def wechat(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y-%m-%d} 19:22:10", "商户消费" if e.amount < 0 else "转账", e.text, "/", "支出" if e.amount < 0 else "收入", f"¥{abs(e.amount)}", "零钱" if random.random() < 0.5 else "招商银行(1234)",
                     "支付成功" if e.amount < 0 else "已存入零钱", f"{random.randint(10**20, 10**21)}\t", "/", "/"]
        for e in reversed(entries)
    ]  # fmt: skip
    above = ["微信支付账单明细,,,,,,,,", "微信昵称：[小明],,,,,,,,", "起始时间：[2026-01-01 00:00:00] 终止时间：[2026-10-31 23:59:59],,,,,,,,", f"共{len(rows)}笔记录,,,,,,,,", ",,,,,,,,",
             "----------------------微信支付账单明细列表--------------------,,,,,,,,"]  # fmt: skip
    headings = (
        "交易时间|交易类型|交易对方|商品|收/支|金额(元)|支付方式|当前状态|交易单号|商户单号|备注"
    )
    return Export(headings.split("|"), rows, {0, 2, 4, 5}, encoding="utf-8-sig", above=above)


@fourth("max-card", "IL", "ILS", "he")
def max_card(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = []
    for e in reversed(entries):
        is_foreign = e.amount < 0 and random.random() < 0.3
        rows.append([f"{e.day:%d-%m-%Y}", e.text, "מזון וצריכה", "1234", "רגילה", -e.amount, "₪", (-e.amount / Decimal("3.6")).quantize(Decimal("0.01")) if is_foreign else -e.amount, "$" if is_foreign else "₪",
                     f"{(e.day.replace(day=1) + timedelta(days=40)).replace(day=10):%d-%m-%Y}"])  # fmt: skip
    total = -sum((e.amount for e in entries), Decimal(0))
    headings = "תאריך עסקה|שם בית העסק|קטגוריה|4 ספרות אחרונות של כרטיס האשראי|סוג עסקה|סכום חיוב|מטבע חיוב|סכום עסקה מקורי|מטבע עסקה מקורי|תאריך חיוב"
    return Workbook(headings.split("|"), rows, {0, 1, 5, 7, 9}, above=["כל המשתמשים (1)", "10/2026"], below=["", f"סך הכל\t\t\t\t\t{total}\t₪"], suffix=".xlsx")  # fmt: skip


@fourth("piraeus", "GR", "EUR", "el", balances=True)
def piraeus(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [e.text, "Αγορά" if e.amount < 0 else "Κατάθεση", e.day, e.day, e.balance, e.amount, f"{random.randint(10**8, 10**9)}"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Περιγραφή|Είδος συναλλαγής|Ημερομηνία καταχώρισης|Ημερομηνία αξίας|Λογιστικό υπόλοιπο|Ποσό|Αρ. αναφοράς"
    return Workbook(
        headings.split("|"),
        rows,
        {0, 2, 4, 5},
        above=["ΚΙΝΗΣΕΙΣ ΛΟΓΑΡΙΑΣΜΟΥ", "Νόμισμα\tEUR"],
        suffix=".xlsx",
    )


@fourth("kh-bank", "HU", "HUF", "hu", scale=400)
def kh_bank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y.%m.%d}", f"{random.randint(10**9, 10**10)}", "Vásárlás" if e.amount < 0 else "Átutalás", "'10400001-00000000-12345678'", "NAGY ÉVA", "", e.text, comma(e.amount), "HUF", "köszönöm"]
        for e in entries
    ]  # fmt: skip
    headings = "könyvelés dátuma|tranzakció azonosító|típus|könyvelési számla|könyvelési számla elnevezése|partner számla|partner elnevezése|összeg|összeg devizaneme|közlemény"
    return Export(
        headings.split("|"), rows, {0, 6, 7}, delimiter="\t", encoding="cp1250", suffix=".csv"
    )


@fourth("alfa-bank", "RU", "RUB", "ru", scale=50)
def alfa_bank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        into, out = split(comma(-e.amount), -e.amount)
        rows.append(
            [
                "Текущий счёт",
                "40817810123456789012",
                "RUR",
                f"{e.day:%d.%m.%y}",
                f"CRD_{random.randint(10**4, 10**5)}",
                e.text,
                into or "0",
                out or "0",
                "",
            ]
        )
    if entries:
        rows.insert(
            0,
            [
                "Текущий счёт",
                "40817810123456789012",
                "RUR",
                f"{entries[-1].day:%d.%m.%y}",
                "HOLD",
                "548673++++++1234 YANDEX TAXI",
                "0",
                "431,00",
                "",
            ],
        )
    headings = "Тип счёта|Номер счета|Валюта|Дата операции|Референс проводки|Описание операции|Приход|Расход|"
    return Export(headings.split("|"), rows, {3, 4, 5, 6, 7}, delimiter=";", encoding="cp1251")


@fourth("akbank-card", "TR", "TRY", "tr", scale=20)
def akbank_card(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d.%m.%Y}", "ÖDEME - TEŞEKKÜR EDERİZ" if e.amount > 0 else e.text, ("+" if e.amount > 0 else "") + comma(abs(e.amount), thousands=".") + " TL", "0,00 TL"]
        for e in reversed(entries)
    ]  # fmt: skip
    above = [
        "Kart Türü / No:\tAxess / 5571 **** **** 1234",
        "Dönem Borcu:\t12.345,67 TL",
        "Son Ödeme Tarihi:\t10.11.2026",
        "",
    ]
    return Workbook(
        "Tarih|Açıklama|Tutar|Chip Para / Mil".split("|"),
        rows,
        {0, 1, 2},
        above=above,
        suffix=".xlsx",
    )


@fourth("islandsbanki", "IS", "ISK", "is", balances=True, places=0, scale=150)
def islandsbanki(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d.%m.%Y}", "ISK", whole(e.amount, "."), whole(e.balance, "."), e.text, f"{random.randint(1000, 9999)}", "Debetkort" if e.amount < 0 else "Millifært"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Dagsetning|Mynt|Upphæð|Staða|Lýsing|Tilvísun|Textalykill"
    return Export(headings.split("|"), rows, {0, 2, 3, 4}, delimiter=";", encoding="utf-8-sig")


@fourth("monobank", "UA", "UAH", "uk", balances=True, scale=20)
def monobank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        is_foreign = e.amount < 0 and random.random() < 0.3
        rows.append([f"{e.day:%d.%m.%Y} 21:33:15", e.text, "5411", f"{(e.amount / 41) if is_foreign else e.amount:.2f}", "USD" if is_foreign else "UAH", "41.0" if is_foreign else "—", f"{e.amount}",
                     "—", "1.2" if is_foreign else "—", f"{e.balance}"])  # fmt: skip
    headings = "Дата i час операції|Деталі операції|MCC|Сума в валюті операції|Валюта|Курс|Сума в валюті картки (UAH)|Сума комісій (UAH)|Сума кешбеку (UAH)|Залишок після операції"
    return Export(headings.split("|"), rows, {0, 1, 3, 6, 9}, is_quoted=True)


@fourth("galicia", "AR", "ARS", "es", balances=True, scale=100)
def galicia(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(f"$ {comma(abs(e.amount), thousands='.')}", e.amount)
        rows.append(
            [
                f"{e.day:%d/%m/%Y}",
                f"{e.text}\n{random.randint(10**9, 10**10)}\nVARIOS",
                f"-{out}" if out else "",
                into,
                f"$ {comma(e.balance, thousands='.')}",
            ]
        )
    headings = "Fecha|Movimiento|Débito|Crédito|Saldo Parcial"
    return Export(headings.split("|"), rows, set(range(5)), delimiter=";", encoding="latin-1")


@fourth("ibkr-sections", "US", "USD", "en")
def ibkr(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [
            "Deposits & Withdrawals",
            "Data",
            "USD",
            f"{e.day:%Y-%m-%d}",
            f"Electronic Fund Transfer {e.text}",
            f"{e.amount}",
        ]
        for e in entries
    ]
    total = sum((e.amount for e in entries), Decimal(0))
    above = ["Statement,Header,Field Name,Field Value", "Statement,Data,BrokerName,Interactive Brokers LLC", 'Statement,Data,Period,"January 1, 2026 - October 31, 2026"',
             "Account Information,Header,Field Name,Field Value", "Account Information,Data,Base Currency,USD", "Cash Report,Header,Currency Summary,Currency,Total",
             f"Cash Report,Data,Starting Cash,Base Currency Summary,{opening}", f"Cash Report,Data,Ending Cash,Base Currency Summary,{opening + total}"]  # fmt: skip
    below = [
        f"Deposits & Withdrawals,Data,Total,,,{total}",
        "Codes,Header,Code,Meaning",
        "Codes,Data,A,Assignment",
    ]
    headings = "Deposits & Withdrawals|Header|Currency|Settle Date|Description|Amount"
    return Export(headings.split("|"), rows, set(range(6)), above=above, below=below)


@fourth("vanguard-dashes", "US", "USD", "en")
def vanguard(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%m/%d/%Y}", f"{e.day:%m/%d/%Y}", "—", e.text, "Funds Received" if e.amount > 0 else "Withdrawal", "CASH", "—", "—", "—", dollars(e.amount).replace("-", "\u2013")]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Settlement date|Trade date|Symbol|Name|Transaction type|Account type|Quantity|Price|Commissions & fees**|Amount"
    return Workbook(
        headings.split("|"),
        rows,
        {0, 3, 9},
        above=["Brokerage Account—12345678", ""],
        suffix=".xlsx",
    )


@fourth("gtbank", "NG", "NGN", "en", balances=True, scale=50)
def gtbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d-%b-%Y}", f"'{random.randint(10**5, 10**6)}", f"{e.day:%d-%b-%Y}", *split(point(e.amount, thousands=","), e.amount), point(e.balance, thousands=","), "E- CHANNELS", e.text]
        for e in entries
    ]  # fmt: skip
    above = ["CUSTOMER STATEMENT", "Account Name\tADA OBI", f"Opening Balance\t{point(opening, thousands=',')}", f"Total Debit\t{point(Decimal(-sum(e.amount for e in entries if e.amount < 0)), thousands=',')}",
             f"Total Credit\t{point(Decimal(sum(e.amount for e in entries if e.amount > 0)), thousands=',')}", f"Closing Balance\t{point(entries[-1].balance if entries else opening, thousands=',')}", ""]  # fmt: skip
    headings = "Trans. Date|Reference|Value. Date|Debits|Credits|Balance|Originating Branch|Remarks"
    return Workbook(headings.split("|"), rows, {0, 3, 4, 5, 7}, above=above, suffix=".xlsx")


@fourth("yucho-era", "JP", "JPY", "ja", balances=True, places=0, scale=100)
def yucho(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        out, into = split(f"{e.amount}", e.amount)
        rows.append(
            [
                f"R{e.day.year - 2018:02}.{e.day.month:02}.{e.day.day:02}",
                f"{random.randint(1, 999):06}",
                into,
                out,
                "カード" if e.amount < 0 else "給与",
                e.text,
                f"{e.balance}",
            ]
        )
    above = [
        "お客さま口座情報",
        "記号番号,12340-1234567",
        f"現在高,{entries[-1].balance if entries else opening}",
        "",
    ]
    headings = "取引日|入出金明細ＩＤ|受入金額（円）|払出金額（円）|詳細１|詳細２|現在（貸付）高"
    return Export(headings.split("|"), rows, {0, 2, 3, 5, 6}, encoding="cp932", above=above)


@fourth("wallet-fee-vat", "SA", "SAR", "en", balances=True)
def wallet(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        fee = Decimal(random.randint(10, 60)) / 100 if e.amount < -5 else Decimal("0.00")
        vat = (fee * Decimal("0.15")).quantize(Decimal("0.01"))
        rows.append(
            [
                f"{e.day:%d %b %Y, %I:%M %p}",
                "Transfer" if e.amount < 0 else "Top up",
                e.text,
                f"{e.amount + fee + vat}",
                f"{-fee}",
                f"{-vat}",
                f"{e.amount}",
                "Success",
                f"{e.balance}",
            ]
        )
        if random.random() < 0.1:
            rows.append(
                [
                    f"{e.day:%d %b %Y, %I:%M %p}",
                    "Transfer",
                    "Ahmed",
                    "-50.00",
                    "0.00",
                    "0.00",
                    "-50.00",
                    "Declined",
                    "",
                ]
            )
    headings = "Date|Type|Description|Amount|Fee|VAT|Total|Status|Balance"
    return Export(headings.split("|"), rows, {0, 2, 3, 4, 5, 6, 7, 8})


@fourth("interleaved-days", "CA", "CAD", "en", balances=True)
def interleaved(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows, before = [], None
    for e in entries:
        if e.day != before and before is not None:
            rows.append([""] * 5)
        rows.append(
            [
                f"{e.day:%b %d, %Y}" if e.day != before else "",
                e.text,
                point(abs(e.amount), thousands=","),
                "C" if e.amount > 0 else "D",
                point(e.balance, thousands=","),
            ]
        )
        before = e.day
    headings = "Posted|Details|Amount|D/C|Balance"
    return Export(headings.split("|"), rows, set(range(5)))

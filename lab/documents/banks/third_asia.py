"""The third set, written before its author had read the reader: banks, cards and wallets of Asia and the Levant."""

from decimal import Decimal
from functools import partial
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import THIRD, late, point, split
from lab.documents.banks.table import Export, Workbook

third = partial(late, THIRD)
EASTERN_DIGITS = str.maketrans("0123456789.,", "٠١٢٣٤٥٦٧٨٩٫٬")
THAI_MONTHS = "ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.".split()


def whole(amount: Decimal, thousands: str = ",") -> str:
    """An amount without decimals."""
    return f"{amount:,.0f}".replace(",", thousands)


@third("shinhan", "KR", "KRW", "ko", balances=True, places=0, scale=1000)
def shinhan(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(whole(e.amount), e.amount)
        rows.append([f"{e.day:%Y-%m-%d}", f"{random.randint(8, 22):02}:{random.randint(0, 59):02}:11", "체크" if e.amount < 0 else "급여", out or "0",
                     into or "0", e.text, whole(e.balance), "강남중앙"])  # fmt: skip
    above = [
        "거래내역조회",
        "계좌번호,110-123-456789",
        "예금종류,저축예금",
        "조회기간,2026-01-01 ~ 2026-10-31",
        "",
    ]
    headings = "거래일자|거래시간|적요|출금(원)|입금(원)|내용|잔액(원)|거래점"
    return Export(headings.split("|"), rows, {0, 3, 4, 5, 6}, encoding="cp949", above=above)


@third("kakaobank", "KR", "KRW", "ko", balances=True, places=0, scale=1000)
def kakaobank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        ["", f"{e.day:%Y.%m.%d} {random.randint(8, 22):02}:31:09", "출금" if e.amount < 0 else "입금", whole(e.amount), whole(e.balance),
         "체크카드결제" if e.amount < 0 else "일반입금", e.text, ""]
        for e in reversed(entries)
    ]  # fmt: skip
    above = ["\t카카오뱅크 거래내역", "", "\t성명\t홍길동", "\t계좌번호\t3333-01-1234567", "\t예금종류\t입출금통장", "\t조회기간\t2026.01.01 ~ 2026.10.31", ""]  # fmt: skip
    headings = "|거래일시|구분|거래금액|거래 후 잔액|거래구분|내용|메모"
    return Workbook(headings.split("|"), rows, {1, 3, 4, 6}, above=above, suffix=".xlsx")


@third("rakuten-bank", "JP", "JPY", "ja", balances=True, places=0, scale=100)
def rakuten(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [[f"{e.day:%Y%m%d}", f"{e.amount}", f"{e.balance}", e.text] for e in entries]
    headings = "取引日|入出金(円)|残高(円)|入出金先内容"
    return Export(headings.split("|"), rows, set(range(4)), encoding="cp932", is_quoted=True)


@third("shinkin-era", "JP", "JPY", "ja", balances=True, places=0, scale=100)
def shinkin(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        out, into = split(whole(e.amount), e.amount)
        rows.append([f"令和{e.day.year - 2018}年{e.day.month}月{e.day.day}日", e.text, out, into, whole(e.balance), ""])  # fmt: skip
    above = ["入出金明細照会", "口座番号,普通 0123456", f'前残高,"{whole(opening)}"']
    headings = "お取引日|摘要|お支払金額|お預り金額|差引残高|備考"
    return Export(headings.split("|"), rows, set(range(5)), encoding="cp932", above=above)


@third("smbc-card", "JP", "JPY", "ja", places=0, scale=100)
def smbc_card(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y/%m/%d}", e.text, f"{-e.amount}", "１", "１", f"{-e.amount}", ""]
        for e in entries
    ]
    total = -sum((e.amount for e in entries), Decimal(0))
    return Export([""] * 7, rows, set(range(7)), encoding="cp932", has_headings=False,
                  above=["山田　太郎　様,4980-12**-****-****,三井住友カード"], below=[f",,,,,{total},"])  # fmt: skip


@third("vietcombank", "VN", "VND", "vi", balances=True, places=0, scale=20000)
def vietcombank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{at}", f"{e.day:%d/%m/%Y}", f"{random.randint(1000, 9999)} - {random.randint(10**4, 10**5)}", *(split(whole(e.amount), e.amount)), whole(e.balance), f"MBVCB.{random.randint(10**9, 10**10)}.{e.text}"]
        for at, e in enumerate(entries, 1)
    ]  # fmt: skip
    out = -sum(e.amount for e in entries if e.amount < 0)
    into = sum(e.amount for e in entries if e.amount > 0)
    below = [f"\tTổng số\t\t{whole(Decimal(out))}\t{whole(Decimal(into))}", "", "\tGhi chú/ Remarks: Đây là bản sao kê điện tử."]  # fmt: skip
    above = ["SAO KÊ TÀI KHOẢN / STATEMENT OF ACCOUNT", "Số tài khoản/ Account number:\t0071000123456", "Loại tiền/ Currency:\tVND",
             "Từ/ From: 01/01/2026 Đến/ To: 31/10/2026", f"Số dư đầu kỳ/ Opening balance:\t{whole(opening)}", ""]  # fmt: skip
    headings = "STT/ No.|Ngày giao dịch/ TNX Date|Số CT/ Doc No|Số tiền ghi nợ/ Debit|Số tiền ghi có/ Credit|Số dư/ Balance|Nội dung chi tiết/ Transactions in detail"
    return Workbook(
        headings.split("|"), rows, {1, 3, 4, 5, 6}, above=above, below=below, suffix=".xlsx"
    )


@third("klikbca", "ID", "IDR", "id", balances=True, scale=10000)
def klikbca(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"'{e.day:%d/%m}", e.text, "'0000", f"{abs(e.amount)}", "DB" if e.amount < 0 else "CR", f"{e.balance}"]
        for e in entries
    ]  # fmt: skip
    start = entries[0].day.replace(day=1) if entries else "2026-01-01"
    closing = entries[-1].balance if entries else opening
    out, into = -sum(e.amount for e in entries if e.amount < 0), sum(e.amount for e in entries if e.amount > 0)  # fmt: skip
    above = ["Informasi Rekening - Mutasi Rekening", "", "No. rekening : 1234567890", "Nama : BUDI SANTOSO",
             f"Periode : {start:%d/%m/%Y} - {entries[-1].day if entries else start:%d/%m/%Y}", "Kode Mata Uang : Rp", ""]  # fmt: skip
    below = [
        f"Saldo Awal : {opening}",
        f"Mutasi Debet : {out}",
        f"Mutasi Kredit : {into}",
        f"Saldo Akhir : {closing}",
    ]
    headings = "Tanggal Transaksi|Keterangan|Cabang|Jumlah||Saldo"
    return Export(headings.split("|"), rows, {0, 1, 3, 4, 5}, above=above, below=below)


@third("scb", "TH", "THB", "th", balances=True)
def scb(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        out, into = split(point(e.amount, thousands=","), e.amount)
        rows.append([f"{e.day:%d/%m}/{e.day.year + 543}", f"{random.randint(7, 22):02}:15", "X2" if e.amount < 0 else "X1", "ENET", out, into,
                     point(e.balance, thousands=","), e.text])  # fmt: skip
    rows.insert(0, [f"{entries[0].day:%d/%m}/{entries[0].day.year + 543}" if entries else "", "", "", "", "", "", point(opening, thousands=","), "ยอดเงินคงเหลือยกมา (BALANCE BROUGHT FORWARD)"])  # fmt: skip
    headings = "วันที่|เวลา|รายการ|ช่องทาง|ลูกหนี้ / ถอน|เจ้าหนี้ / ฝาก|ยอดเงินคงเหลือ|คำอธิบาย"
    return Export(headings.split("|"), rows, {0, 4, 5, 6, 7}, encoding="utf-8-sig")


@third("canara-two-headings", "IN", "INR", "en", balances=True)
def canara(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [["", "Date", "Date", "No.", "", "(INR)", "(INR)", "(INR)"]]
    for at, e in enumerate(entries, 1):
        out, into = split(point(e.amount, thousands=","), e.amount)
        rows.append([f"{at}", f"{e.day:%d-%m-%Y}", f"{e.day:%d-%m-%Y}", "", e.text, out, into, point(e.balance, thousands=",")])  # fmt: skip
    headings = "Sl|Txn|Value|Cheque|Particulars|Withdrawals|Deposits|Balance"
    above = ["CANARA BANK", "Statement for A/c XXXXXXXXX1234", ""]
    return Export(
        headings.split("|"),
        rows,
        {0, 1, 2, 3, 4, 5, 6, 7},
        above=above,
        below=["", "***END OF STATEMENT***"],
    )


@third("alipay", "CN", "CNY", "zh")
def alipay(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        number = random.randint(10**27, 10**28)
        rows.append([f"{number}\t", "\t", f"{e.day:%Y-%m-%d} 10:31:0{random.randint(0, 9)}  ", f"{e.day:%Y-%m-%d} 10:31:12  ", "支付宝网站  ", "即时到账交易 ",
                     f"{e.text} ", "订单 ", f"{abs(e.amount)} ", "支出 " if e.amount < 0 else "收入 ", "交易成功 ", "0.00 ", "0.00 ", "", "已支出 " if e.amount < 0 else "已收入 "])  # fmt: skip
        if random.random() < 0.15:
            rows.append([f"{number + 1}\t", "\t", f"{e.day:%Y-%m-%d} 10:29:40  ", "", "支付宝网站  ", "即时到账交易 ", "饭店 ", "订单 ", "88.00 ", "不计收支 ", "交易关闭 ", "0.00 ",
                         "0.00 ", "", ""])  # fmt: skip
    headings = "交易号|商家订单号|交易创建时间|付款时间|交易来源地|类型|交易对方|商品名称|金额（元）|收/支|交易状态|服务费（元）|成功退款（元）|备注|资金状态"
    above = ["支付宝交易记录明细查询", "账号:[example@mail.cn]", "起始日期:[2026-01-01 00:00:00]    终止日期:[2026-10-31 00:00:00]",
             "---------------------------------交易记录明细列表------------------------------------"]  # fmt: skip
    below = ["------------------------------------------------------------------------------------", f"共{len(rows)}笔记录", "导出时间:[2026-11-01 10:00:00]    用户:张三"]  # fmt: skip
    return Export(
        headings.split("|"), rows, {2, 6, 8, 9, 10}, encoding="gbk", above=above, below=below
    )


@third("hsbc-hk-card", "HK", "HKD", "en")
def hsbc_hk(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        is_foreign = e.amount < 0 and random.random() < 0.4
        rows.append([f"{e.day:%d/%m/%Y}", f"{e.day:%d/%m/%Y}", "PAYMENT - THANK YOU" if e.is_income else e.text, "USD" if is_foreign else "HKD",
                     f"{(e.amount / Decimal('7.8')) if is_foreign else e.amount:.2f}", f"{e.amount:.2f}", "POSTED"])  # fmt: skip
    headings = (
        "Transaction date|Post date|Description|Foreign currency|Foreign amount|Amount (HKD)|Status"
    )
    return Export(headings.split("|"), rows, {0, 2, 4, 5})


@third("hapoalim", "IL", "ILS", "he", balances=True)
def hapoalim(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [e.day, e.text, "", f"{random.randint(10**4, 10**6)}", -e.amount if e.amount < 0 else "", e.amount if e.amount > 0 else "", e.balance, e.day]
        for e in reversed(entries)
    ]  # fmt: skip
    above = ["תנועות בחשבון", "חשבון: 12-345-678901", "הופק בתאריך 01.11.2026", ""]
    headings = 'תאריך|הפעולה|פרטים|אסמכתא|חובה|זכות|יתרה בש"ח|תאריך ערך'
    return Workbook(headings.split("|"), rows, {0, 1, 4, 5, 6}, above=above, suffix=".xlsx")


@third("nbk", "KW", "KWD", "ar", balances=True, places=3)
def nbk(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        out, into = split(f"{e.amount:,.3f}", e.amount)
        rows.append([f"{e.day:%d/%m/%Y}", e.text, out, into, f"{e.balance:,.3f}"])
    headings = "التاريخ|البيان|مدين|دائن|الرصيد"
    return Export(headings.split("|"), rows, set(range(5)), encoding="utf-8-sig")


@third("eastern-digits", "EG", "EGP", "ar", balances=True)
def eastern(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%Y/%m/%d}".translate(EASTERN_DIGITS), e.text, point(abs(e.amount), thousands=",").translate(EASTERN_DIGITS),
                     "مدين" if e.amount < 0 else "دائن", point(e.balance, thousands=",").translate(EASTERN_DIGITS)]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "تاريخ العملية|الوصف|المبلغ|نوع العملية|الرصيد بعد العملية"
    return Workbook(headings.split("|"), rows, set(range(5)), suffix=".xlsx")

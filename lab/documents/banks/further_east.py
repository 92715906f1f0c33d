"""Exports of further banks of Asia and the Gulf: other years, other groups of digits, headings on two rows."""

from datetime import date
from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import further, point, split
from lab.documents.banks.table import Export, Workbook

HIJRI_EPOCH = date(622, 7, 19)  # of the tabular calendar
EXCEL_EPOCH = date(1899, 12, 30)


def lakhs(amount: Decimal) -> str:
    """As grouped in India: 12,34,567.00."""
    whole, cents = f"{abs(amount):.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    parts = [head[max(0, at - 2) : at] for at in range(len(head), 0, -2)][::-1]
    return ",".join([*parts, tail]) + "." + cents


def hijri(day: date) -> str:
    """The day in the tabular Islamic calendar, near enough to what a bank prints."""
    days = (day - HIJRI_EPOCH).days
    year = (30 * days + 10646) // 10631
    start = (11 * year + 3) // 30 + 354 * (year - 1)
    month = min(12, (days - start) * 2 // 59 + 1)
    return f"{year}/{month:02}/{days - start - (59 * (month - 1) + 1) // 2 + 1:02}"


@further("dbs", "SG", "SGD", "en")
def dbs(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(point(e.amount), e.amount)
        rows.append([f"{e.day:%d %b %Y}", "POS" if e.amount < 0 else "ICT", out or " ", into or " ", e.text, "SI SGP 05JAN", "4628-4500", ""])  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = [
        "", "Account Details For:,DBS Savings Plus 012-3-456789", "Statement as at:,30 Sep 2026", f"Available Balance:,{closing}",
        f"Ledger Balance:,{closing}", "",
    ]  # fmt: skip
    headings = "Transaction Date|Reference|Debit Amount|Credit Amount|Transaction Ref1|Transaction Ref2|Transaction Ref3|"
    return Export(headings.split("|"), rows, {0, 2, 3, 4}, above=above)


@further("ocbc", "SG", "SGD", "en")
def ocbc(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        day = f"{e.day:%d/%m/%Y}"
        rows.append([day, day, "POS PURCHASE" if e.amount < 0 else "GIRO - SALARY", *split(point(e.amount, thousands=","), e.amount)])  # fmt: skip
        rows.append(["", "", f"{e.text} 4628-4500", "", ""])
    closing = point(entries[-1].balance if entries else opening, thousands=",")
    above = ["Account details for:,FRANK Account 501-123456-001", f'Available Balance,"{closing}"', f'Ledger Balance,"{closing}"', "", "Transaction History"]  # fmt: skip
    headings = "Transaction date|Value date|Description|Withdrawals(SGD)|Deposits(SGD)"
    return Export(headings.split("|"), rows, {0, 2, 3, 4}, above=above)


@further("maybank", "MY", "MYR", "en", balances=True)
def maybank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%y}", e.text, point(abs(e.amount), thousands=",") + ("-" if e.amount < 0 else "+"),
         point(e.balance, thousands=",")]
        for e in entries
    ]  # fmt: skip
    rows.insert(0, ["", "BEGINNING BALANCE", "", point(opening, thousands=",")])
    rows.append(["", "ENDING BALANCE :", "", point(entries[-1].balance if entries else opening, thousands=",")])  # fmt: skip
    headings = "Entry Date|Transaction Description|Transaction Amount|Statement Balance"
    return Export(headings.split("|"), rows, set(range(4)), is_quoted=True)


@further("uob", "SG", "SGD", "en", balances=True)
def uob(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d %b %Y}", e.text, max(-e.amount, Decimal(0)), max(e.amount, Decimal(0)), e.balance]
        for e in reversed(entries)
    ]  # fmt: skip
    above = [
        "United Overseas Bank Limited.", "Company / Business Registration Number in Singapore\t193500026Z", "",
        "Account Number:\t1234567890", "Account Type:\tOne Account", "Statement Period:\t01 Jan 2026 To 30 Sep 2026",
        "Currency:\tSGD", "",
    ]  # fmt: skip
    headings = "Transaction Date|Transaction Description|Withdrawal|Deposit|Available Balance"
    return Workbook(headings.split("|"), rows, set(range(5)), above=above, suffix=".xlsx")


@further("sbi", "IN", "INR", "en", balances=True)
def sbi(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day.day} {e.day:%b %Y}", f"{e.day.day} {e.day:%b %Y}", f"   TO TRANSFER-UPI/DR/{random.randint(10**8, 10**9)}/{e.text}--",
         "TRANSFER TO 4897690162095", *(split(lakhs(e.amount), e.amount)), lakhs(e.balance)]
        for e in entries
    ]  # fmt: skip
    above = [
        "Account Name       :\tMs. ANNA SHARMA", "Address            :\tMG ROAD, PUNE", "Date               :\t30 Sep 2026",
        "Account Number     :\t_00000012345678901", "Account Description:\tSBCHQ-GEN-PUB-IND-NONRURAL-INR", "Branch             :\tPUNE",
        "Drawing Power      :\t0.00", "Interest Rate(% p.a.):\t2.70", "MOD Balance        :\t0.00",
        f"Balance on 1 Jan 2026 :\t{lakhs(opening)}", "Start Date         :\t1 Jan 2026", "End Date           :\t30 Sep 2026", "",
    ]  # fmt: skip
    headings = "Txn Date|Value Date|Description|Ref No./Cheque No.|        Debit|Credit|Balance"
    return Export(
        headings.split("|"), rows, {0, 2, 4, 5, 6}, delimiter="\t", above=above, suffix=".xls",
        below=["", "**This is a computer generated statement and does not require a signature."],
    )  # fmt: skip


@further("icici", "IN", "INR", "en", balances=True)
def icici(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        ["", f"{at}", f"{e.day:%d/%m/%Y}", f"{e.day:%d/%m/%Y}", "-", f"UPI/{e.text}/Payment", lakhs(min(e.amount, Decimal(0))).replace(",", ""),
         lakhs(max(e.amount, Decimal(0))).replace(",", ""), lakhs(e.balance).replace(",", "")]
        for at, e in enumerate(entries, 1)
    ]  # fmt: skip
    above = [
        "\tDETAILED STATEMENT", "", "\tSearch", "\tAccount Number\t\t000401234567 ( INR ) - ANNA SHARMA",
        "\tTransaction Date from\t\t01/01/2026\t\tto\t30/09/2026", "\tAmount from\t\t\t\tto", "", "\tTransactions List - ANNA SHARMA ( INR ) - 000401234567", "",
    ]  # fmt: skip
    below = ["", "\tLegends Used in Account Statement", "\t1. \tVAT - Cash withdrawal at ATM", "\t2. \tINFT - Internal fund transfer"]  # fmt: skip
    headings = "|S No.|Value Date|Transaction Date|Cheque Number|Transaction Remarks|Withdrawal Amount (INR )|Deposit Amount (INR )|Balance (INR )"
    return Workbook(headings.split("|"), rows, {2, 3, 5, 6, 7, 8}, above=above, below=below, suffix=".xlsx")  # fmt: skip


@further("axis", "IN", "INR", "en", balances=True)
def axis(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", "-", f"POS/{e.text}/PUNE", *split(point(e.amount), e.amount), point(e.balance), "248"]
        for e in entries
    ]  # fmt: skip
    rows.insert(0, ["", "", "OPENING BALANCE", "", "", point(opening), ""])
    spent = -sum((e.amount for e in entries if e.amount < 0), Decimal(0))
    came = sum((e.amount for e in entries if e.amount > 0), Decimal(0))
    rows.append(["", "", "TRANSACTION TOTAL", point(spent), point(came), "", ""])
    rows.append(["", "", "CLOSING BALANCE", "", "", point(entries[-1].balance if entries else opening), ""])  # fmt: skip
    above = ["Name :- ANNA SHARMA", "Joint Holder :--", "Statement of Account No - 912010012345678 for the period (From : 01-01-2026 To : 30-09-2026)", ""]  # fmt: skip
    below = ["", "Unless the constituent notifies the bank immediately of any discrepancy found by him/her in this statement"]  # fmt: skip
    return Export("Tran Date|CHQNO|PARTICULARS|DR|CR|BAL|SOL".split("|"), rows, {0, 2, 3, 4, 5}, above=above, below=below)  # fmt: skip


@further("kotak", "IN", "INR", "en", balances=True)
def kotak(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{at}", f"{e.day:%d-%m-%Y}", f"{e.day:%d-%m-%Y}", f"UPI/{e.text}", f"UPI-{random.randint(10**8, 10**9)}", lakhs(e.amount),
         "DR" if e.amount < 0 else "CR", lakhs(e.balance), "CR" if e.balance >= 0 else "DR"]
        for at, e in enumerate(entries, 1)
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = ["Account Statement", "ANNA SHARMA,,,,,Account No.,1234567890", ",,,,,Period,From 01/01/2026 To 30/09/2026", ",,,,,Currency,INR", ""]  # fmt: skip
    below = [f'Opening balance,,,as on 01/01/2026   INR {opening},,,,,', f'Closing balance,,,as on 30/09/2026   INR {closing},,,,,']  # fmt: skip
    headings = "Sl. No.|Transaction Date|Value Date|Description|Chq / Ref No.|Amount|Dr / Cr|Balance|Dr / Cr"
    return Export(headings.split("|"), rows, {1, 3, 5, 6, 7, 8}, above=above, below=below)


@further("krungthai", "TH", "THB", "th", balances=True)
def krungthai(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/}{e.day.year + 543}", "10:11", "โอนเงิน", *split(point(e.amount, thousands=","), e.amount),
         point(e.balance, thousands=","), "MOBILE", e.text]
        for e in entries
    ]  # fmt: skip
    headings = "วันที่|เวลา|รายการ|ถอนเงิน|ฝากเงิน|ยอดคงเหลือ|ช่องทาง|รายละเอียด"
    return Export(headings.split("|"), rows, {0, 3, 4, 5}, encoding="utf-8-sig")


@further("kasikorn-short-year", "TH", "THB", "en", balances=True)
def kasikorn(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-}{(e.day.year + 543) % 100}", "10:11", "Payment" if e.amount < 0 else "Transfer Deposit",
         *split(point(e.amount, thousands=","), e.amount), point(e.balance, thousands=","), "K PLUS", e.text]
        for e in entries
    ]  # fmt: skip
    above = ["ธนาคารกสิกรไทย,KASIKORNBANK", "Account,012-3-45678-9", "Period,01/01/2569 - 30/09/2569", ""]  # fmt: skip
    headings = "Date|Time|Descriptions|Withdrawal|Deposit|Outstanding Balance (THB)|Channel|Details"
    return Export(headings.split("|"), rows, {0, 3, 4, 5}, above=above, encoding="utf-8-sig")


@further("al-rajhi", "SA", "SAR", "ar", balances=True)
def al_rajhi(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [hijri(e.day), f"{e.day:%Y/%m/%d}", e.text, *split(point(e.amount, thousands=","), e.amount), point(e.balance, thousands=",")]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "التاريخ الهجري|التاريخ الميلادي|تفاصيل العملية|مدين|دائن|الرصيد"
    return Export(headings.split("|"), rows, {1, 2, 3, 4, 5}, encoding="cp1256")


@further("hijri-only", "SA", "SAR", "en", balances=True)
def hijri_only(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [hijri(e.day), e.text, *split(point(e.amount), e.amount), point(e.balance)]
        for e in reversed(entries)
    ]
    return Export("Date|Description|Debit|Credit|Balance".split("|"), rows, set(range(5)))


@further("emirates-nbd", "AE", "AED", "en", balances=True)
def emirates(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [e.day, e.text, -e.amount if e.amount < 0 else "", e.amount if e.amount > 0 else "", e.balance]
        for e in reversed(entries)
    ]  # fmt: skip
    above = ["Account Statement", "Account Name\tANNA KHAN", "Account Number\t1011234567801", "", "Transaction\t\tAmount\t\tBalance"]  # fmt: skip
    return Workbook("Date|Details|Debit|Credit|(AED)".split("|"), rows, set(range(5)), above=above, suffix=".xlsx")  # fmt: skip


@further("serial-dates", "AE", "AED", "en", balances=True)
def serial_dates(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{(e.day - EXCEL_EPOCH).days}", e.text, point(e.amount), point(e.balance)]
        for e in entries
    ]
    return Export("Posting Date|Narration|Amount|Running Balance".split("|"), rows, set(range(4)))


@further("payoneer", "IL", "USD", "en")
def payoneer(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", f"{e.text}", point(e.amount, thousands=","), "USD", "Completed"]
        for e in reversed(entries)
    ]
    rows.insert(0, ["09/28/2026", "Payment from Upwork", "250.00", "USD", "Cancelled"])
    return Export("Date|Description|Amount|Currency|Status".split("|"), rows, set(range(5)), is_quoted=True)  # fmt: skip


@further("kb-kookmin", "KR", "KRW", "zh", balances=True, places=0)
def kookmin(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y.%m.%d} 10:11:12", "체크카드", e.text, f"{max(-e.amount, 0):,}", f"{max(e.amount, 0):,}", f"{e.balance:,}", "강남지점"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "거래일시|적요|보낸분/받는분|출금액(원)|입금액(원)|잔액(원)|거래점"
    return Export(headings.split("|"), rows, {0, 3, 4, 5}, encoding="utf-8-sig", above=["거래내역조회", "계좌번호,123456-01-123456", ""])  # fmt: skip

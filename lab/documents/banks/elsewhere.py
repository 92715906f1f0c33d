"""Exports of banks in America, Asia and Australia."""

from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import bank, comma, point
from lab.documents.banks.table import Export


def card_text(entry: Entry) -> str:
    return "Payment Thank You - Web" if entry.is_income else entry.text


@bank("chase-checking", "US", "USD", "en", balances=True)
def chase_checking(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["DEBIT" if e.amount < 0 else "CREDIT", f"{e.day:%m/%d/%Y}", e.text, point(e.amount),
         "DEBIT_CARD" if e.amount < 0 else "ACH_CREDIT", point(e.balance), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Details",
        "Posting Date",
        "Description",
        "Amount",
        "Type",
        "Balance",
        "Check or Slip #",
    ]
    return Export(headings, rows, {0, 1, 2, 3, 5})


@bank("chase-card", "US", "USD", "en")
def chase_card(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", f"{e.day:%m/%d/%Y}", card_text(e), "" if e.is_income else "Shopping",
         "Payment" if e.is_income else "Sale", point(e.amount), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Transaction Date",
        "Post Date",
        "Description",
        "Category",
        "Type",
        "Amount",
        "Memo",
    ]
    return Export(headings, rows, {0, 1, 2, 4, 5})


@bank("bank-of-america", "US", "USD", "en", balances=True)
def bank_of_america(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    paid = sum((e.amount for e in entries if e.amount < 0), Decimal(0))
    got = sum((e.amount for e in entries if e.amount > 0), Decimal(0))
    above = [
        "Description,,Summary Amt.", f'Beginning balance as of 01/01/2026,,"{point(opening, thousands=",")}"',
        f'Total credits,,"{point(got, thousands=",")}"', f'Total debits,,"{point(paid, thousands=",")}"',
        f'Ending balance as of 12/31/2026,,"{point(entries[-1].balance, thousands=",")}"', "",
    ]  # fmt: skip
    rows = [["01/01/2026", "Beginning balance as of 01/01/2026", "", point(opening, thousands=",")]]
    rows += [
        [
            f"{e.day:%m/%d/%Y}",
            e.text,
            point(e.amount, thousands=","),
            point(e.balance, thousands=","),
        ]
        for e in entries
    ]
    return Export(
        ["Date", "Description", "Amount", "Running Bal."], rows, {0, 1, 2, 3}, above=above
    )


@bank("wells-fargo", "US", "USD", "en")
def wells_fargo(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [[f"{e.day:%m/%d/%Y}", point(e.amount), "*", "", e.text] for e in reversed(entries)]
    columns = ["date", "amount", "star", "check", "text"]
    return Export(columns, rows, {0, 1, 2, 3, 4}, has_headings=False, is_quoted=True)


@bank("capital-one-card", "US", "USD", "en")
def capital_one(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", f"{e.day}", "1234", card_text(e), "Payment/Credit" if e.is_income else "Dining",
         "" if e.is_income else point(-e.amount), point(e.amount) if e.is_income else ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Transaction Date",
        "Posted Date",
        "Card No.",
        "Description",
        "Category",
        "Debit",
        "Credit",
    ]
    return Export(headings, rows, {0, 1, 3, 5, 6})


@bank("citi-card", "US", "USD", "en")
def citi(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["Cleared", f"{e.day:%m/%d/%Y}", "ONLINE PAYMENT, THANK YOU" if e.is_income else e.text,
         "" if e.is_income else point(-e.amount), point(-e.amount) if e.is_income else ""]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export(["Status", "Date", "Description", "Debit", "Credit"], rows, {0, 1, 2, 3, 4})


@bank("amex", "US", "USD", "en")
def amex(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [
            f"{e.day:%m/%d/%Y}",
            "ONLINE PAYMENT - THANK YOU" if e.is_income else e.text,
            point(-e.amount),
        ]
        for e in reversed(entries)
    ]
    return Export(["Date", "Description", "Amount"], rows, {0, 1, 2})


@bank("discover", "US", "USD", "en")
def discover(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", f"{e.day:%m/%d/%Y}", "INTERNET PAYMENT - THANK YOU" if e.is_income else e.text,
         point(-e.amount), "Payments and Credits" if e.is_income else "Merchandise"]
        for e in entries
    ]  # fmt: skip
    headings = ["Trans. Date", "Post Date", "Description", "Amount", "Category"]
    return Export(headings, rows, {0, 1, 2, 3, 4})


@bank("apple-card", "US", "USD", "en")
def apple_card(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", f"{e.day:%m/%d/%Y}", "ACH DEPOSIT INTERNET TRANSFER" if e.is_income else e.text, e.text,
         "Payment" if e.is_income else "Grocery", "Payment" if e.is_income else "Purchase", point(-e.amount), "Anna Muster"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Transaction Date",
        "Clearing Date",
        "Description",
        "Merchant",
        "Category",
        "Type",
        "Amount (USD)",
        "Purchased By",
    ]
    return Export(headings, rows, {0, 1, 2, 5, 6})


@bank("paypal", "US", "USD", "en", balances=True)
def paypal(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        fee = Decimal("-1.00") if e.is_income else Decimal(0)
        rows.append(
            [f"{e.day:%m/%d/%Y}", "10:11:12", "PST", e.text, "Express Checkout Payment", "Completed", "USD",
             point(e.amount - fee, thousands=","), point(fee), point(e.amount, thousands=","), "a@example.com", "b@example.com",
             f"{random.randint(10**9, 10**10)}X", point(e.balance, thousands=",")]
        )  # fmt: skip
    headings = [
        "Date",
        "Time",
        "TimeZone",
        "Name",
        "Type",
        "Status",
        "Currency",
        "Gross",
        "Fee",
        "Net",
        "From Email Address",
        "To Email Address",
        "Transaction ID",
        "Balance",
    ]
    return Export(headings, rows, {0, 3, 5, 6, 7, 8, 9, 13}, is_quoted=True, encoding="utf-8-sig")


@bank("nubank", "BR", "BRL", "pt")
def nubank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}", point(e.amount), f"64a{random.randint(10**9, 10**10)}", e.text]
        for e in entries
    ]
    return Export(["Data", "Valor", "Identificador", "Descrição"], rows, {0, 1, 3})


@bank("itau", "BR", "BRL", "pt")
def itau(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [[f"{e.day:%d/%m/%Y}", e.text, comma(e.amount)] for e in entries]
    return Export(
        ["data", "lançamento", "valor"], rows, {0, 1, 2}, delimiter=";", has_headings=False
    )


@bank("rbc", "CA", "CAD", "en")
def rbc(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["Chequing", "01234-5678901", f"{e.day.month}/{e.day.day}/{e.day.year}", "", "INTERAC PURCHASE" if e.amount < 0 else "PAYROLL DEPOSIT",
         e.text, point(e.amount), ""]
        for e in entries
    ]  # fmt: skip
    headings = "Account Type|Account Number|Transaction Date|Cheque Number|Description 1|Description 2|CAD$|USD$"
    return Export(headings.split("|"), rows, {2, 4, 5, 6, 7})


@bank("commbank", "AU", "AUD", "en", balances=True)
def commbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}", point(e.amount, plus="+"), e.text, point(e.balance, plus="+")]
        for e in reversed(entries)
    ]
    return Export(
        ["date", "amount", "text", "balance"],
        rows,
        {0, 1, 2, 3},
        has_headings=False,
        is_quoted=True,
    )


@bank("hdfc", "IN", "INR", "en", balances=True)
def hdfc(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%y}  ", f"UPI-{e.text}", f"{e.day:%d/%m/%y}", point(-e.amount if e.amount < 0 else Decimal(0)),
         point(e.amount if e.amount > 0 else Decimal(0)), f"0000{random.randint(10**9, 10**10)}", point(e.balance)]
        for e in entries
    ]  # fmt: skip
    headings = [
        "  Date     ", "Narration", "Value Dat", "Debit Amount       ", "Credit Amount      ", "Chq/Ref Number   ", "Closing Balance",
    ]  # fmt: skip
    return Export(headings, rows, {0, 1, 2, 3, 4, 6}, above=[""])


@bank("ynab", "US", "USD", "en")
def ynab(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["Checking", "", f"{e.day:%m/%d/%Y}", e.text, "Everyday: Groceries", "Everyday", "Groceries", "",
         f"${point(-e.amount if e.amount < 0 else Decimal(0))}", f"${point(e.amount if e.amount > 0 else Decimal(0))}", "Cleared"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Account",
        "Flag",
        "Date",
        "Payee",
        "Category Group/Category",
        "Category Group",
        "Category",
        "Memo",
        "Outflow",
        "Inflow",
        "Cleared",
    ]
    return Export(headings, rows, {2, 3, 8, 9}, is_quoted=True, encoding="utf-8-sig")


@bank("mint", "US", "USD", "en")
def mint(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day.month}/{e.day:%d/%Y}", e.text.title(), e.text, point(abs(e.amount)), "debit" if e.amount < 0 else "credit",
         "Groceries", "CHECKING", "", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = [
        "Date",
        "Description",
        "Original Description",
        "Amount",
        "Transaction Type",
        "Category",
        "Account Name",
        "Labels",
        "Notes",
    ]
    return Export(headings, rows, {0, 1, 3, 4}, is_quoted=True)


@bank("mufg", "JP", "JPY", "ja", balances=True, places=0)
def mufg(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day.year}/{e.day.month}/{e.day.day}", "カード" if e.amount < 0 else "振込", e.text, f"{-e.amount:,}" if e.amount < 0 else "",
         f"{e.amount:,}" if e.amount > 0 else "", f"{e.balance:,}", "", "", "支払い" if e.amount < 0 else "入金"]
        for e in entries
    ]  # fmt: skip
    headings = [
        "日付",
        "摘要",
        "摘要内容",
        "支払い金額",
        "預かり金額",
        "差引残高",
        "メモ",
        "未資金化区分",
        "入払区分",
    ]
    return Export(
        headings, rows, {0, 1, 2, 3, 4, 5}, is_quoted=True, encoding="shift_jis", line_end="\r\n"
    )


@bank("icbc", "CN", "CNY", "zh", balances=True)
def icbc(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", "消费" if e.amount < 0 else "转账", e.text, "人民币", point(e.amount, thousands=",") if e.amount > 0 else "",
         point(-e.amount, thousands=",") if e.amount < 0 else "", point(e.balance, thousands=",")]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = ["交易日期", "摘要", "交易场所", "币种", "收入金额", "支出金额", "余额"]
    return Export(headings, rows, {0, 1, 2, 3, 4, 5, 6}, is_quoted=True, encoding="gbk")

"""Exports of further banks of Australia, New Zealand, America and South Africa, and of companies without branches."""

from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import further, point, split
from lab.documents.banks.table import Export


@further("kiwibank", "NZ", "NZD", "en", balances=True)
def kiwibank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in entries:
        out, into = split(point(e.amount), e.amount)
        rows.append(["38-9000-0123456-00", f"{e.day:%d-%m-%Y}", e.text, "EFTPOS", "", "", "", "", "", "", "", "", "",
                     into, out, point(e.amount), point(e.balance)])  # fmt: skip
    headings = (
        "Account number|Date|Memo/Description|Source Code (payment type)|TP ref|TP part|TP code|OP ref|OP part|OP code"
        "|OP name|OP Bank Account Number|Effective Date|Amount (credit)|Amount (debit)|Amount|Balance"
    )
    return Export(headings.split("|"), rows, {1, 2, 13, 14, 15, 16})


@further("anz", "AU", "AUD", "en")
def anz(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [[f"{e.day:%d/%m/%Y}", point(e.amount), e.text] for e in reversed(entries)]
    return Export("Date Amount Text".split(), rows, {0, 1, 2}, has_headings=False, is_quoted=True)


@further("westpac", "AU", "AUD", "en", balances=True)
def westpac(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["032000123456", f"{e.day:%d/%m/%Y}", f"DEBIT CARD PURCHASE {e.text} AUS", *split(point(e.amount), e.amount),
         point(e.balance), "PAYMENT", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Bank Account|Date|Narrative|Debit Amount|Credit Amount|Balance|Categories|Serial"
    return Export(headings.split("|"), rows, {1, 2, 3, 4, 5})


@further("nab", "AU", "AUD", "en", balances=True)
def nab(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d %b %y}", point(e.amount), "123456789", "", "EFTPOS DEBIT" if e.amount < 0 else "TRANSFER CREDIT",
         f"V1234 {e.day:%d/%m} {e.text}", point(e.balance), "", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Date|Amount|Account Number||Transaction Type|Transaction Details|Balance|Category|Merchant Name"
    return Export(headings.split("|"), rows, {0, 1, 5, 6})


@further("asb", "NZ", "NZD", "en")
def asb(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y/%m/%d}", f"{e.day:%Y%m%d}01", "EFTPOS" if e.amount < 0 else "D/C", "", e.text, "CARD 1234", point(e.amount)]
        for e in entries
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    above = [
        "Created date / time : 30 September 2026 / 10:11:12", "Bank 12; Branch 3456; Account 0123456-50 (Streamline)",
        "From date 20260101", "To date 20260930", f"Avail Bal : {closing} as of 20260930",
        f"Ledger Balance : {closing} as of 20260930",
    ]  # fmt: skip
    headings = "Date|Unique Id|Tran Type|Cheque Number|Payee|Memo|Amount"
    return Export(headings.split("|"), [[""] * 7, *rows], {0, 4, 6}, above=above)


@further("banco-do-brasil", "BR", "BRL", "pt")
def banco_do_brasil(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d/%m/%Y}", "", e.text, "", f"{random.randint(10**5, 10**6)}", point(e.amount), ""]
        for e in entries
    ]  # fmt: skip
    rows.insert(0, ["30/12/2025", "", "Saldo Anterior", "", "0", point(opening), ""])
    closing = entries[-1].balance if entries else opening
    rows.append(["30/09/2026", "", "S A L D O", "", "0", point(closing), ""])
    headings = "Data|Dependencia Origem|Histórico|Data do Balancete|Número do documento|Valor|"
    return Export(headings.split("|"), rows, {0, 2, 5}, encoding="cp1252", is_quoted=True)


@further("bancolombia", "CO", "COP", "es")
def bancolombia(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["599-000015-95", " 599", " ", f" {e.day:%Y%m%d}", " ", f" {point(e.amount)}", " 7251", f" COMPRA EN {e.text}", " 0"]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export([f"{at}" for at in range(9)], rows, set(range(9)), has_headings=False)


@further("santander-mx", "MX", "MXN", "es", balances=True)
def santander_mx(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["'65500000000", f"'{e.day:%d%m%Y}", "'12:01", "0001", e.text, "-" if e.amount < 0 else "+", point(abs(e.amount)),
         point(e.balance), "0000123", e.text]
        for e in entries
    ]  # fmt: skip
    headings = (
        "Cuenta|Fecha|Hora|Sucursal|Descripcion|Cargo/Abono|Importe|Saldo|Referencia|Concepto"
    )
    return Export(headings.split("|"), rows, {1, 4, 5, 6, 7})


@further("standard-bank", "ZA", "ZAR", "en")
def standard_bank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    first = entries[0].day if entries else "2026-01-01"
    last = entries[-1] if entries else None
    rows = [
        ["HIST", f"{e.day:%Y%m%d}", "##" if e.amount < -100 else "", point(e.amount), e.text, "CARD PURCHASE", "1234", "0"]
        for e in entries
    ]  # fmt: skip
    rows.insert(0, ["", f"{first}".replace("-", ""), "", point(opening), "OPEN BALANCE", "", "", ""])  # fmt: skip
    rows.insert(0, ["ACC-NO", "10012345678", "", "0", "PLUSPLAN", "", "0", "0"])
    rows.insert(0, ["ALL", "0", "", "1", "ANNA SMITH", "", "0", "0"])
    if last:
        rows.append(["", f"{last.day:%Y%m%d}", "", point(last.balance), "CLOSE BALANCE", "", "", ""])  # fmt: skip
    return Export([f"{at}" for at in range(8)], rows, set(range(8)), has_headings=False)


@further("fnb", "ZA", "ZAR", "en", balances=True)
def fnb(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%Y/%m/%d}", f" {point(e.amount)}", f" {point(e.balance)}", f" {e.text}"]
        for e in reversed(entries)
    ]
    closing = entries[-1].balance if entries else opening
    above = ["ACCOUNT TRANSACTION HISTORY", "", "Name:, ANNA SMITH", "Account:, 62123456789, [Cheque]", f"Balance:, {closing}, {closing}", ""]  # fmt: skip
    return Export(["Date", " Amount", " Balance", " Description"], rows, set(range(4)), above=above)


@further("capitec", "ZA", "ZAR", "en", balances=True)
def capitec(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{at}", "1234567890", f"{e.day}", f"{e.day}", e.text, f"{e.text} 123", "Food", "Groceries",
         point(e.amount) if e.amount > 0 else "", point(e.amount) if e.amount < 0 else "", "", point(e.balance)]
        for at, e in enumerate(entries, 1)
    ]  # fmt: skip
    headings = (
        "Nr|Account|Posting Date|Transaction Date|Description|Original Description|Parent Category|Category|Money In"
        "|Money Out|Fee|Balance"
    )
    return Export(headings.split("|"), rows, {2, 3, 4, 8, 9, 10, 11})


@further("curve", "GB", "GBP", "en")
def curve(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", e.text, point(-e.amount), "GBP", point(-e.amount), "GBP", "Barclays Debit", "1234", "Personal",
         "Shopping", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Date (YYYY-MM-DD as UTC)|Merchant|Txn Amount (Funding Card)|Txn Currency (Funding Card)"
        "|Txn Amount (Foreign Spend)|Txn Currency (Foreign Spend)|Card Name|Card Last 4 Digits|Type|Category|Notes"
    )
    return Export(headings.split("|"), rows, {0, 1, 2, 3})


@further("mercury", "US", "USD", "en")
def mercury(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m-%d-%Y}", e.text, point(e.amount), "Sent", "Mercury Checking xx1234", e.text.upper(), "", "", "", "", "",
         "", f"{e.day:%m-%d-%Y} 10:11:12", "", "", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    rows.insert(0, ["09-28-2026", "Stripe", "120.00", "Pending", *[""] * 8, "09-28-2026 10:11:12", "", "", ""])  # fmt: skip
    rows.append(["01-01-2026", "Gusto", "-300.00", "Failed", *[""] * 8, "01-01-2026 10:11:12", "", "", ""])  # fmt: skip
    headings = (
        "Date (UTC)|Description|Amount|Status|Source Account|Bank Description|Reference|Note|Last Four Digits|Name On Card"
        "|Category|GL Code|Timestamp|Original Currency|Check Number|Tags"
    )
    return Export(headings.split("|"), rows, {0, 1, 2, 3})


@further("schwab-checking", "US", "USD", "en", balances=True)
def schwab(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split("$" + point(abs(e.amount), thousands=","), e.amount)
        rows.append([f"{e.day:%m/%d/%Y}", "Posted", "VISA" if e.amount < 0 else "ACH", "", e.text, out, into,
                     "$" + point(e.balance, thousands=",")])  # fmt: skip
    headings = "Date|Status|Type|CheckNumber|Description|Withdrawal|Deposit|RunningBalance"
    return Export(
        headings.split("|"), rows, {0, 4, 5, 6, 7}, is_quoted=True,
        above=['"Transactions  for Checking account XXXX-111 as of 09/30/2026 10:11:12 AM ET"'],
    )  # fmt: skip


@further("fidelity-cash", "US", "USD", "en", balances=True)
def fidelity(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", f"{'DEBIT CARD PURCHASE' if e.amount < 0 else 'DIRECT DEPOSIT'} {e.text} (Cash)", "", "No Description",
         "Cash", "", "0.000", "", "", "", point(e.amount), point(e.balance), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Run Date|Action|Symbol|Description|Type|Price ($)|Quantity|Commission ($)|Fees ($)|Accrued Interest ($)|Amount ($)"
        "|Cash Balance ($)|Settlement Date"
    )
    below = [
        "", "", '"The data and information in this spreadsheet is provided to you solely for your use."', "",
        "Date downloaded 09/30/2026 10:11 am",
    ]  # fmt: skip
    return Export(headings.split("|"), rows, {0, 1, 10, 11}, above=["", ""], below=below)


@further("first-republic", "US", "USD", "en", balances=True)
def parentheses(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%y}", e.text,
         f"(${point(-e.amount, thousands=',')})" if e.amount < 0 else f"${point(e.amount, thousands=',')}",
         f"${point(e.balance, thousands=',')}"]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export("Date Description Amount Balance".split(), rows, set(range(4)))


@further("navy-federal", "US", "USD", "en")
def navy_federal(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", f"{e.day:%m/%d/%Y}", point(abs(e.amount)), "Debit" if e.amount < 0 else "Credit", "POS", "POS",
         "", "USD", "", "", e.text, "Shopping", "", "1234"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = (
        "Posting Date|Transaction Date|Amount|Credit Debit Indicator|type|Type Group|Reference|Instructed Currency"
        "|Currency Exchange Rate|Instructed Amount|Description|Category|Check Serial Number|Card Ending"
    )
    return Export(headings.split("|"), rows, {0, 1, 2, 3, 10})


@further("us-bank", "US", "USD", "en")
def us_bank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}", "DEBIT" if e.amount < 0 else "CREDIT", e.text, "Download from usbank.com.", point(e.amount)]
        for e in reversed(entries)
    ]  # fmt: skip
    return Export("Date Transaction Name Memo Amount".split(), rows, {0, 2, 4}, is_quoted=True)


@further("brex", "US", "USD", "en")
def brex(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day}T10:11:12.000Z", f"{e.day}", e.text, point(e.amount), "USD", "Cash", "", "CLEARED", ""]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "Initiated at|Posted date|Counterparty|Amount|Currency|Account|Memo|Status|Receipt"
    return Export(headings.split("|"), rows, {1, 2, 3, 4})


@further("desjardins", "CA", "CAD", "fr", balances=True)
def desjardins(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        ["CAISSE DE MONTREAL", "012345", "EOP", f"{e.day:%Y/%m/%d}", f"{at:05}", e.text, "",
         *split(point(e.amount), e.amount), "", "", "", "", point(e.balance)]
        for at, e in enumerate(entries, 1)
    ]  # fmt: skip
    return Export([f"{at}" for at in range(14)], rows, set(range(14)), has_headings=False, encoding="cp1252", is_quoted=True)  # fmt: skip

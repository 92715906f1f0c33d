"""The third set: the Americas, Africa and Australia, with wallets and brokers."""

from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.layouts import THIRD, comma, late, point, split
from lab.documents.banks.table import Export, Workbook

third = partial(late, THIRD)
EXCEL_EPOCH = date(1899, 12, 30)


def dollars(amount: Decimal) -> str:
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"


@third("mercado-pago", "AR", "ARS", "es", balances=True, scale=100)
def mercado_pago(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%d-%m-%Y}", "Pago con QR" if e.amount < 0 else "Transferencia recibida", f"{random.randint(10**10, 10**11)} {e.text}", comma(e.amount, thousands="."), comma(e.balance, thousands=".")]
        for e in entries
    ]  # fmt: skip
    closing = entries[-1].balance if entries else opening
    out, into = sum(e.amount for e in entries if e.amount < 0), sum(e.amount for e in entries if e.amount > 0)  # fmt: skip
    above = ["INITIAL_BALANCE;CREDITS;DEBITS;FINAL_BALANCE", ";".join(comma(Decimal(each), thousands=".") for each in (opening, into, out, closing)), ""]  # fmt: skip
    headings = "RELEASE_DATE|TRANSACTION_TYPE|REFERENCE_ID|TRANSACTION_NET_AMOUNT|PARTIAL_BALANCE"
    return Export(headings.split("|"), rows, {0, 2, 3, 4}, delimiter=";", above=above)


@third("banco-estado", "CL", "CLP", "es", balances=True, places=0, scale=1000)
def banco_estado(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = []
    for e in reversed(entries):
        out, into = split(f"${abs(e.amount):,.0f}".replace(",", "."), e.amount)
        rows.append(
            [
                f"{e.day:%d/%m/%Y}",
                f"{random.randint(10**6, 10**7)}",
                e.text,
                out,
                into,
                f"${e.balance:,.0f}".replace(",", "."),
            ]
        )
    above = ["Cartola Histórica CuentaRUT", "N° Cuenta\t12345678", f"Saldo Disponible\t${entries[-1].balance if entries else opening:,.0f}".replace(",", "."), ""]  # fmt: skip
    headings = "Fecha|N° Operación|Descripción|Cheques / Cargos|Depósitos / Abonos|Saldo"
    return Workbook(headings.split("|"), rows, {0, 2, 3, 4, 5}, above=above, suffix=".xlsx")


@third("bbva-mx", "MX", "MXN", "es", balances=True, scale=10)
def bbva_mx(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        out, into = split(point(e.amount, thousands=","), e.amount, is_unsigned=False)
        rows.append(
            [
                f"{e.day:%d/%m/%Y}",
                f"{e.text} / {random.randint(10**6, 10**7)}",
                out,
                into,
                point(e.balance, thousands=","),
            ]
        )
    headings = "FECHA|DESCRIPCIÓN|CARGO|ABONO|SALDO"
    return Export(headings.split("|"), rows, set(range(5)), delimiter="\t", encoding="latin-1", suffix=".txt",
                  below=["", "BBVA MEXICO, S.A., INSTITUCION DE BANCA MULTIPLE, GRUPO FINANCIERO BBVA MEXICO"])  # fmt: skip


@third("stripe-balance", "US", "USD", "en")
def stripe(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        fee = Decimal(random.randint(20, 900)) / 100 if e.amount > 0 else Decimal("0.00")
        rows.append([f"txn_{random.randint(10**10, 10**11)}", "charge" if e.amount > 0 else "payout", f"py_{random.randint(10**10, 10**11)}", f"{e.amount + fee}", f"{fee}", f"{e.amount}", "usd",
                     f"{e.day:%Y-%m-%d} 11:02", f"{e.day + timedelta(days=2):%Y-%m-%d} 00:00", e.text])  # fmt: skip
    headings = "id|Type|Source|Amount|Fee|Net|Currency|Created (UTC)|Available On (UTC)|Description"
    return Export(headings.split("|"), rows, {3, 4, 5, 7, 9})


@third("m-pesa", "KE", "KES", "en", balances=True, scale=10)
def m_pesa(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        code = f"QJ{random.randint(10**7, 10**8)}"
        out, into = split(point(e.amount, thousands=","), e.amount, is_unsigned=False)
        rows.append([code, f"{e.day:%Y-%m-%d} 13:05:40", f"Pay Bill to {e.text}" if e.amount < 0 else f"Funds received from {e.text}", "Completed", into, out, point(e.balance, thousands=",")])  # fmt: skip
        if random.random() < 0.1:
            rows.append(
                [
                    f"{code}X",
                    f"{e.day:%Y-%m-%d} 13:04:10",
                    "Pay Bill to KPLC PREPAID",
                    "Failed",
                    "",
                    "-500.00",
                    "",
                ]
            )
    above = ["M-PESA STATEMENT", "Customer Name:,JANE WANJIKU", "Mobile Number:,0712345678", "Statement Period:,01 Jan 2026 - 31 Oct 2026", "",
             "Detailed Statement"]  # fmt: skip
    headings = "Receipt No.|Completion Time|Details|Transaction Status|Paid In|Withdrawn|Balance"
    return Export(headings.split("|"), rows, {1, 2, 3, 4, 5, 6}, above=above)


@third("minor-units", "GB", "GBP", "en", balances=True)
def minor_units(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"tx_{random.randint(10**8, 10**9)}", f"{e.day:%Y-%m-%d}T09:12:33.412Z", f"{int(e.amount * 100)}", "GBP", e.text, f"{int(e.balance * 100)}", "false"]
        for e in entries
    ]  # fmt: skip
    headings = "id|created|amount_in_pence|currency|description|account_balance_in_pence|is_load"
    return Export(headings.split("|"), rows, {1, 2, 4, 5})


@third("td-canada", "CA", "CAD", "en", balances=True)
def td_canada(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [f"{e.day:%m/%d/%Y}", e.text, *split(point(e.amount), e.amount), point(e.balance)]
        for e in reversed(entries)
    ]
    return Export([""] * 5, rows, set(range(5)), has_headings=False)


@third("cash-app", "US", "USD", "en")
def cash_app(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        fee = (
            Decimal(random.randint(10, 200)) / 100
            if e.amount > 0 and random.random() < 0.5
            else Decimal("0.00")
        )
        rows.append([f"{random.randint(10**6, 10**7)}", f"{e.day:%Y-%m-%d} 08:11:09 PST", "Sent P2P" if e.amount < 0 else "Received P2P", "USD", dollars(e.amount + fee), dollars(-fee),
                     dollars(e.amount), "", "", "", "PAYMENT SENT" if e.amount < 0 else "PAYMENT DEPOSITED", e.text, "Jo", "Your Cash"])  # fmt: skip
        if random.random() < 0.1:
            rows.append([f"{random.randint(10**6, 10**7)}", f"{e.day:%Y-%m-%d} 07:11:09 PST", "Sent P2P", "USD", "-$20.00", "$0.00", "-$20.00", "", "", "", "PAYMENT CANCELED", "tacos", "Jo", "Your Cash"])  # fmt: skip
    headings = "Transaction ID|Date|Transaction Type|Currency|Amount|Fee|Net Amount|Asset Type|Asset Price|Asset Amount|Status|Notes|Name of sender/receiver|Account"
    return Export(headings.split("|"), rows, {1, 4, 5, 6, 10, 11}, is_quoted=True)


@third("broker-parentheses", "US", "USD", "en")
def broker(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        shown = f"(${-e.amount:,.2f})" if e.amount < 0 else f"${e.amount:,.2f}"
        is_trade = e.amount < 0 and random.random() < 0.5
        day = f"{e.day.month}/{e.day.day}/{e.day.year}"
        rows.append([day, day, day, "VTI" if is_trade else "", f"Vanguard Total\nCUSIP: 922908769 {e.text}" if is_trade else f"ACH {e.text}", "Buy" if is_trade else "ACH",
                     "3" if is_trade else "", f"${-e.amount / 3:.2f}" if is_trade else "", shown])  # fmt: skip
    headings = "Activity Date|Process Date|Settle Date|Instrument|Description|Trans Code|Quantity|Price|Amount"
    below = [
        "",
        '"The data provided is for informational purposes only. Please consult a professional tax advisor."',
    ]
    return Export(headings.split("|"), rows, {0, 4, 5, 8}, is_quoted=True, below=below)


@third("interbank", "PE", "PEN", "es")
def interbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows: list[list[object]] = [
        [f"{e.day:%d/%m/%Y}", f"{e.day + timedelta(days=1):%d/%m/%Y}", f"{random.randint(10**5, 10**6)}", "PAGO" if e.amount > 0 else "CONSUMO", e.text, "BANCA MOVIL", comma(-e.amount, thousands="."), ""]
        for e in reversed(entries)
    ]  # fmt: skip
    total = -sum((e.amount for e in entries), Decimal(0))
    above = ["Tarjeta de Crédito Visa Signature", "Movimientos de la tarjeta **** 1234", ""]
    headings = "Fecha de operación|Fecha de proceso|Nro. de operación|Movimiento|Descripción|Canal|Monto S/|Monto US$"
    return Workbook(headings.split("|"), rows, {0, 3, 4, 6, 7}, above=above, below=[f"\t\t\t\tTotal\t\t{comma(total, thousands='.')}\t0,00"], suffix=".xlsx")  # fmt: skip


@third("up-bank", "AU", "AUD", "en")
def up_bank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = []
    for e in reversed(entries):
        is_foreign = e.amount < 0 and random.random() < 0.3
        round_up = (
            Decimal(random.randint(1, 90)) / 100
            if e.amount < -5 and random.random() < 0.3
            else Decimal(0)
        )
        subtotal = e.amount + round_up
        rows.append([f"{e.day:%Y-%m-%d}T18:01:22+10:00", "633-123 / 123456789", "Purchase" if e.amount < 0 else "Direct Credit", e.text, "", "Groceries", "", f"{subtotal:.2f}", "USD" if is_foreign else "",
                     f"{subtotal / Decimal('1.5'):.2f}" if is_foreign else "", f"{-round_up:.2f}" if round_up else "", "", f"{e.amount:.2f}", "Card", f"{e.day:%Y-%m-%d}"])  # fmt: skip
    headings = "Time|BSB / Account Number|Transaction Type|Payee|Description|Category|Tags|Subtotal (AUD)|Currency|Subtotal (Transaction Currency)|Round Up (AUD)|Fee (AUD)|Total (AUD)|Payment Method|Settled Date"
    return Export(headings.split("|"), rows, {0, 3, 7, 9, 10, 12})


@third("nedbank", "ZA", "ZAR", "en", balances=True)
def nedbank(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [[f"{e.day:%d%b%Y}", e.text, f"{e.amount}", f"{e.balance}", ""] for e in entries]
    above = [
        "Statement Enquiry :",
        "Account Number : ,1234567890",
        "Account Description : ,SAVVY PLUS",
        "Statement Number : ,12",
    ]
    return Export([""] * 5, rows, set(range(5)), above=above, has_headings=False)


@third("bank-of-baroda", "IN", "INR", "en", balances=True)
def baroda(opening: Decimal, entries: list[Entry], random: Random) -> Export:
    rows = [
        [point(e.balance, thousands=",") + "CR", f"{(e.day - EXCEL_EPOCH).days}", e.text, point(abs(e.amount), thousands=",") + ("DR" if e.amount < 0 else "CR"), f"{random.randint(10**5, 10**6)}"]
        for e in reversed(entries)
    ]  # fmt: skip
    headings = "BALANCE|TRAN DATE|NARRATION|TRANSACTION AMOUNT|CHQ.NO."
    return Export(headings.split("|"), rows, {0, 1, 2, 3}, delimiter="\t", suffix=".tsv")

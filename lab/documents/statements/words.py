"""What banks print, by language: titles, headings, labels, months, and how they write dates and figures.

The words are data, in `words.yaml`.
"""

from importlib.resources import files

import msgspec


class Tongue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language with the habits of its banks."""

    title: str
    period: str
    to: str
    account: str
    opening: str
    closing: str
    brought: str
    carried: str
    totals: tuple[str, str]  # of money out, of money in
    date: str
    value_date: str
    text: str
    debit: str
    credit: str
    amount: str
    balance: str
    page: str
    months: str
    currencies: str
    numbers: str
    dates: str
    card: str = ""
    limit: str = ""
    least: str = ""


TONGUES: dict[str, Tongue] = msgspec.yaml.decode(
    (files(__package__) / "words.yaml").read_bytes(), type=dict[str, Tongue]
)
# Names of shops that look like dates, amounts, totals and balances on purpose.
SHOPS = (
    "REWE MARKT GMBH", "TESCO STORES 3321", "H&M 0221", "IKEA", "UBER *TRIP", "AMZN Mktp DE*2K4",
    "SPOTIFY P1A2", "NETFLIX.COM", "SHELL 0937", "DB VERTRIEB", "STARBUCKS #1123", "CITY WATER UTIL",
    "RENT - J DOE", "ATM WITHDRAWAL", "PAYPAL *EBAY", "APPLE.COM/BILL", "ALDI SUED 4411", "TOTAL ENERGIES 77",
    "BALANCE TRANSFER FEE", "CARD 1234 ON 05/06 LIDL", "EXCHANGE 12.50 USD AT 1.0821", "7-ELEVEN 2 STREET",
    "DIRECT DEBIT O2", "24 HOUR FITNESS", "CREDIT INTEREST", "MAY FLOWERS LTD", "MARCH HARE PUB",
    "1-800-FLOWERS", "INVOICE 2024-118", "STANDING ORDER 03/04/2024", "99 CENTS ONLY",
)  # fmt: skip
PAYERS = (
    "ACME PAYROLL", "TAX REFUND", "INTEREST PAID", "J SMITH TRANSFER", "DIVIDEND 12/2024",
    "INSURANCE CLAIM 100.00",
)  # fmt: skip
TAILS = (
    "REF 67052636", "CARD 4411 PARIS", "FX 1.2345 USD 12.00", "ORDER 2025-01-15", "BERLIN",
    "EREF+ 2025/0001/77", "VISA DEBIT", "SEPA LASTSCHRIFT",
)  # fmt: skip

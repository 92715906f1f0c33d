"""The statements that `stateward demo` shows: every format, made from seeds, and two that are broken.

    python -m lab.documents.statements.samples src/stateward/pipelines/statements/samples

writes them anew. Nothing in them is real.
"""

import sys
from datetime import date
from pathlib import Path

from lab.documents.statements.layouts import draw
from lab.documents.statements.structured import WRITERS, story

STRUCTURED = {
    "checking-2026-01.csv": ("csv_plain", "GB33BUKB20201555555555", "GBP"),
    "girokonto-2026-01.csv": ("csv_german", "DE89370400440532013000", "EUR"),
    "releve-2026-01.csv": ("csv_french", "FR7630006000011234567890189", "EUR"),
    "savings-2026-01.csv": ("csv_indian", "50100012345678", "INR"),
    "konto-2026-01.tsv": ("tsv_swiss", "CH9300762011623852957", "CHF"),
    "checking-2026-01.ofx": ("ofx_sgml", "0001234567", "USD"),
    "card-2026-01.qfx": ("ofx_xml", "4111000011110000", "USD"),
    "household-2026-01.qif": ("qif", "Household", "USD"),
    "konto-2026-01.sta": ("mt940", "NL91ABNA0417164300", "EUR"),
    "konto-2026-01.xml": ("camt053", "AT611904300234573201", "EUR"),
    "business-2026-01.xlsx": ("xlsx", "ES9121000418450200051332", "EUR"),
}
PRINTED = {"statement-2026-01.pdf": 25, "card-2026-01.pdf": 31}
TORN_AT = 0.4
OLE_HEAD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\x00\x03\x00\xfe\xff\x09\x00"


def structured() -> dict[str, bytes]:
    """Every sample that is no PDF and not broken."""
    return {
        name: WRITERS[writer](
            story(seed, account=account, currency=currency, start=date(2026, 1, 1))
        )
        for seed, (name, (writer, account, currency)) in enumerate(STRUCTURED.items(), start=1)
    }


def samples() -> dict[str, bytes]:
    """All of them by name."""
    printed = {name: draw(seed).pdf for name, seed in PRINTED.items()}
    whole = next(iter(printed.values()))
    broken = {
        "renamed-spreadsheet.csv": OLE_HEAD + bytes(480),
        "torn-statement.pdf": whole[: int(len(whole) * TORN_AT)],
    }
    return {**structured(), **printed, **broken}


def main(folder: Path) -> None:
    """Write them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in samples().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The contracts that `stateward demo` shows: one that goes through, one for a person, one that fails and comes back.

    python -m lab.documents.contracts.samples src/stateward/pipelines/contracts/samples

writes them anew. No person or company in them is real, but for the providers that the rules know.
"""

import sys
from pathlib import Path

from lab.documents.contracts.blocks import (
    Block,
    Heading,
    Lines,
    Pairs,
    Prose,
    docx,
    pdf,
    plain,
)

CUSTOMER = Lines(["Erika Muster", "Lindenweg 12", "10115 Berlin"])

POWER: list[Block] = [
    Lines(["Vattenfall Europe Sales GmbH", "Überseering 12, 22297 Hamburg"]),
    CUSTOMER,
    Heading("Stromliefervertrag"),
    Prose(
        "Vielen Dank für Ihren Auftrag. Wir beliefern Sie zu den folgenden Bedingungen mit Strom."
    ),
    Pairs(
        [
            ("Anbieter", "Vattenfall Europe Sales GmbH"),
            ("Tarif", "Easy12 Strom"),
            ("Arbeitspreis", "35,27 ct/kWh"),
            ("Monatlicher Abschlag", "95,00 EUR"),
            ("Jahresverbrauch", "2.900 kWh"),
            ("Vertragsbeginn", "01.01.2026"),
            ("Vertragsende", "31.12.2026"),
            ("Kündigungsfrist", "1 Monat"),
        ],
        "gap",
    ),
    Prose("Alle Preise verstehen sich einschließlich der gesetzlichen Umsatzsteuer."),
]
MOBILE: list[Block] = [
    Lines(["Kellerfunk Mobil GmbH", "Kellerstraße 1, 50667 Köln"]),
    CUSTOMER,
    Heading("Mobilfunkvertrag"),
    Pairs(
        [
            ("Anbieter", "Kellerfunk Mobil GmbH"),
            ("Tarif", "Keller Allnet M"),
            ("Monatlicher Grundpreis", "24,99 EUR"),
            ("Datenvolumen", "20 GB"),
            ("Vertragsbeginn", "01.03.2026"),
            ("Vertragsende", "29.02.2028"),
            ("Kündigungsfrist", "1 Monat"),
        ]
    ),
]
WATER: list[Block] = [
    Lines(["Wasserwerk Talheim AG", "Am Brunnen 3, 74388 Talheim"]),
    CUSTOMER,
    Heading("Wasserliefervertrag"),
    Pairs(
        [
            ("Wasserversorger", "Wasserwerk Talheim AG"),
            ("Zählergröße", "Qn 2,5"),
            ("Grundpreis pro Monat", "6,50 EUR"),
            ("Preis je Kubikmeter", "2,15 EUR"),
            ("Vertragsbeginn", "01.04.2026"),
        ]
    ),
]


def samples() -> dict[str, bytes]:
    """All of them by name."""
    return {
        "strom-vattenfall.pdf": pdf(POWER),
        "mobilfunk-kellerfunk.docx": docx(MOBILE),
        "wasser-talheim.txt": plain(WATER),
    }


def main(folder: Path) -> None:
    """Write them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in samples().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

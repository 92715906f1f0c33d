"""Two contracts of one page, and what the first says."""

from stateward.core.model import Fields

STROM = """Vattenfall Europe Sales GmbH
Stromliefervertrag

Kunde: Erika Muster, Hauptstraße 5, 10115 Berlin

Ihr Tarif: Easy12 Strom
Anbieter: Vattenfall Europe Sales GmbH
Monatlicher Abschlag: 95,00 EUR
Arbeitspreis: 35,27 ct/kWh
Jahresverbrauch: 2.900 kWh
Vertragsbeginn: 01.01.2026
Vertragsende: 31.12.2026
Kündigungsfrist: 1 Monat
"""
SAID = {
    "provider": ("Vattenfall Europe Sales GmbH", "Anbieter: Vattenfall Europe Sales GmbH"),
    "tariff_name": ("Easy12 Strom", "Ihr Tarif: Easy12 Strom"),
    "monthly_rate": ("95.00 EUR", "Monatlicher Abschlag: 95,00 EUR"),
    "kwh_price": ("35.27 ct", "Arbeitspreis: 35,27 ct/kWh"),
    "contract_start": ("2026-01-01", "Vertragsbeginn: 01.01.2026"),
    "contract_end": ("2026-12-31", "Vertragsende: 31.12.2026"),
    "cancellation_period": ("1 month", "Kündigungsfrist: 1 Monat"),
}
TODAY: Fields = {"today": "2026-11-15"}
LEASE = """
RENTAL AGREEMENT

1. Payment
The customer shall pay all invoices within thirty days.

2. Confidentiality
Each party shall keep the confidential information of the other party secret.

2.1 Exceptions
Information that is publicly known is not confidential information.

3. Governing Law
This Agreement shall be governed by the laws of the State of Texas.
"""

"""What a synthetic contract is about: values that are true of it, and values of other things that stand around."""

import random
from datetime import date, timedelta
from decimal import Decimal

import msgspec

from stateward.pipelines.contracts.offline.number_fields import months_later

PROVIDERS = {
    "energy": [
        ("Vattenfall", "Vattenfall Europe Sales GmbH"), ("E.ON", "E.ON Energie Deutschland GmbH"),
        ("EnBW", "EnBW Energie Baden-Württemberg AG"), ("Yello", "Yello Strom GmbH"), ("EWE", "EWE VERTRIEB GmbH"),
        ("LichtBlick", "LichtBlick SE"), ("Octopus Energy", "Octopus Energy Germany GmbH"), ("Naturstrom", "NATURSTROM AG"),
        ("Mainova", "Mainova AG"), ("eprimo", "eprimo GmbH"), ("RheinEnergie", "RheinEnergie AG"), ("enercity", "enercity AG"),
    ],
    "telco": [
        ("Deutsche Telekom", "Telekom Deutschland GmbH"), ("Vodafone", "Vodafone GmbH"),
        ("O2", "Telefónica Germany GmbH & Co. OHG"), ("1&1", "1&1 Telecom GmbH"), ("congstar", "congstar GmbH"),
        ("freenet", "freenet DLS GmbH"), ("NetCologne", "NetCologne Gesellschaft für Telekommunikation mbH"),
        ("Deutsche Telekom", "Deutsche Telekom AG"), ("Vodafone", "Vodafone Deutschland"),
    ],
    "insurance": [
        ("Allianz", "Allianz Versicherungs-AG"), ("AXA", "AXA Versicherung AG"), ("HUK-COBURG", "HUK-COBURG Allgemeine Versicherung AG"),
        ("ERGO", "ERGO Versicherung AG"), ("R+V", "R+V Allgemeine Versicherung AG"), ("Generali", "Generali Deutschland Versicherung AG"),
        ("Zurich", "Zurich Insurance plc"), ("Gothaer", "Gothaer Allgemeine Versicherung AG"), ("DEVK", "DEVK Allgemeine Versicherungs-AG"),
        ("VHV", "VHV Allgemeine Versicherung AG"), ("Signal Iduna", "SIGNAL IDUNA Allgemeine Versicherung AG"),
    ],
}  # fmt: skip
STRANGERS = {
    "energy": ["Stadtwerke Neuburg GmbH", "Alpenkraft Energie eG", "Windhof Strom GmbH", "Lumora Energy Ltd", "Bergische Energiehaus AG"],
    "telco": ["Nordfunk Mobil GmbH", "Glasnetz Ostheide GmbH", "Tellaro Mobile Ltd", "Fonomia Telecom GmbH"],
    "insurance": ["Hansea Assekuranz AG", "Brennfeld Versicherung VVaG", "Kestrel Mutual Insurance Ltd", "Domus Sachversicherung AG"],
}  # fmt: skip
NAMES = {
    "energy": ["Natur24 Strom", "ÖkoStrom Plus", "Strom Fix 24", "Easy12 Strom", "Komfort Gas 12", "Strom Klassik", "Grünstrom Pur", "SmartFlex 12", "Strom 24 Direkt",
               "Basis Plus", "Zuhause Strom Extra", "Green Fix 12", "Natur Gas Öko 24", "Strom Best Price", "Klima Plus Strom", "Profi Gas 24"],
    "telco": ["MagentaMobil L", "Allnet Flat S", "Red M", "Free Unlimited Smart", "Mobile Plus 20", "GigaMobil M", "All-Net-Flat L", "Smart XL", "Blue Basic", "MagentaZuhause M",
              "Prime 30", "Mobil Starter", "Young L", "Fair Flat 10", "Data Comfort", "Surf & Talk 15"],
}  # fmt: skip
POLICIES = {
    "de": ["Hausratversicherung", "Privathaftpflichtversicherung", "Wohngebäudeversicherung", "Kfz-Versicherung", "Rechtsschutzversicherung", "Unfallversicherung",
           "Berufsunfähigkeitsversicherung", "Zahnzusatzversicherung", "Tierhalterhaftpflichtversicherung", "Private Haftpflichtversicherung", "Reiseversicherung"],
    "en": ["Household Contents Insurance", "Private Liability Insurance", "Home Insurance", "Car Insurance", "Legal Expenses Insurance", "Personal Accident Insurance",
           "Travel Insurance", "Pet Insurance", "Buildings Insurance", "Motor Insurance"],
}  # fmt: skip
PERIODS = ["2 weeks", "4 weeks", "6 weeks", "1 month", "2 months", "3 months", "14 days", "30 days"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """One contract: the truth, the printed provider, and figures of other things."""

    vertical: str
    language: str
    fields: dict[str, str]
    printed_provider: str
    is_known: bool
    term_months: int
    other_provider: str
    old_rate: str
    bonus: str
    fee: str
    base_price: str
    net: str
    yearly: str
    renewal_months: int
    signed: str
    printed: str
    customer: str
    number: str
    consumption: int


def facts(rng: random.Random, *, vertical: str = "", language: str = "") -> Facts:
    """A contract, drawn."""
    vertical = vertical or rng.choice(["energy", "telco", "insurance"])
    language = language or rng.choice(["de", "de", "en"])
    is_known = rng.random() > 0.08
    name, printed = rng.choice(PROVIDERS[vertical])
    if not is_known:
        printed = rng.choice(STRANGERS[vertical])
        name = printed
    if is_known and rng.random() < 0.3:
        printed = name
    months = rng.choice([12, 12, 24, 24, 24, 36, 6, 18])
    start = date(
        rng.randint(2021, 2026),
        rng.randint(1, 12),
        rng.choice([1, 1, 1, 15, rng.randint(1, 28)]),
    )
    rate = _cents(
        rng, *{"energy": (3500, 29900), "telco": (799, 8999), "insurance": (390, 24900)}[vertical]
    )
    fields = {
        "provider": name,
        "contract_start": start.isoformat(),
        "contract_end": months_later(start, months).isoformat(),
    }
    if vertical == "insurance":
        fields |= {
            "policy_type": rng.choice(POLICIES[language]),
            "monthly_premium": rate,
            "coverage_amount": f"{rng.choice([5000, 25000, 50000, 65000, 100000, 250000, 500000, 1000000, 3000000, 5000000, 10000000, 50000000])}.00",
            "deductible": f"{rng.choice([0, 100, 150, 250, 300, 500, 1000])}.00",
        }
    else:
        fields |= {"monthly_rate": rate, "cancellation_period": rng.choice(PERIODS)}
        if vertical == "energy":
            fields["tariff_name"] = rng.choice(NAMES["energy"])
            fields["kwh_price"] = str(Decimal(rng.randint(1890, 4999)) / 10000)
        else:
            fields["plan_name"] = rng.choice(NAMES["telco"])
            fields["data_volume"] = rng.choice(
                [
                    "3 GB",
                    "5 GB",
                    "10 GB",
                    "15 GB",
                    "20 GB",
                    "30 GB",
                    "50 GB",
                    "100 GB",
                    "500 MB",
                    "unlimited",
                ]
            )
    other = rng.choice([each for each in PROVIDERS[vertical] if each[0] != name])[1]
    signed = start - timedelta(days=rng.randint(14, 90))
    value = Decimal(rate)
    return Facts(
        vertical=vertical, language=language, fields=fields, printed_provider=printed, is_known=is_known, term_months=months,
        other_provider=other, old_rate=str(value + Decimal(rng.randint(150, 990)) / 100), bonus=f"{rng.choice([25, 50, 75, 100, 150])}.00",
        fee=_cents(rng, 1999, 5999), base_price=_cents(rng, 690, 1990), net=str((value / Decimal("1.19")).quantize(Decimal("0.01"))),
        yearly=str(value * 12), renewal_months=rng.choice([1, 12]), signed=signed.isoformat(),
        printed=(signed + timedelta(days=rng.randint(1, 9))).isoformat(), customer=rng.choice(["Erika Muster", "Jonas Weber", "Ayse Yilmaz", "Peter Smith", "Clara Hoffmann"]),
        number=str(rng.randint(10**8, 10**9)), consumption=rng.choice([1500, 2500, 3500, 4200, 18000]),
    )  # fmt: skip


def _cents(rng: random.Random, low: int, high: int) -> str:
    return str(Decimal(rng.randint(low, high)) / 100)

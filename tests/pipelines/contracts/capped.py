"""Three plain contracts to change, and what is extracted from them."""

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.contracts.caps import FLAGS
from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.kit.reader import text_document

RULES = default_rules()

ENERGY = {
    "head": "E.ON Energie Deutschland GmbH, Arnulfstraße 203, 80634 München\n\nVertragsbestätigung",
    "tariff_name": "Tarif: E.ON Strom 24",
    "contract_start": "Lieferbeginn: 01.05.2025",
    "contract_end": "Vertragsende: 30.04.2027",
    "kwh_price": "Arbeitspreis: 30,10 ct/kWh (brutto)",
    "monthly_rate": "Monatlicher Abschlag: 95,00 EUR",
    "cancellation_period": "Kündigungsfrist: 1 Monat",
}
INSURANCE = {
    "head": "ERGO Versicherung AG, ERGO-Platz 1, 40477 Düsseldorf\n\nCertificate of insurance",
    "policy_type": "Policy type: Travel insurance",
    "contract_start": "Start of cover: 1 January 2025",
    "contract_end": "End of cover: 31 December 2025",
    "coverage_amount": "Sum insured: EUR 100,000",
    "deductible": "Deductible: EUR 100",
    "monthly_premium": "Monthly premium: EUR 10.00",
}
NDA = """
MUTUAL NON-DISCLOSURE AGREEMENT

{date} by and between Harrow Mills Inc., a Delaware corporation ("Harrow"), and Bexley Robotics LLC, a Texas limited
liability company ("Bexley").

1. Term. This Agreement shall remain in effect for three (3) years from the Effective Date.
2. Governing Law. This Agreement shall be governed by the laws of {law}.

HARROW MILLS INC.                     BEXLEY ROBOTICS LLC
By: ____________________              By: ____________________
"""


def extracted(text: str, vertical: str) -> Extraction:
    return by_rules(text_document(text), RULES.vertical(vertical), RULES)


def written(base: dict[str, str], **changes: str) -> str:
    return "\n".join({**base, **changes}.values())


def value(found: Extraction, field: str) -> FoundValue:
    return next(each for each in found.found if each.field == field)


def flags(found: Extraction) -> list[str]:
    listed = msgspec.convert(found.about.get(FLAGS, []), list[Fields])
    return [str(each["code"]) for each in listed]

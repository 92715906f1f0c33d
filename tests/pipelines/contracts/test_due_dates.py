"""Due dates that leave out months, and names that are those of a role."""

import pytest

from stateward.pipelines.contracts.due_dates import uneven_due_dates
from tests.pipelines.contracts.capped import ENERGY, NDA, extracted, value, written


@pytest.mark.parametrize(
    "said",
    [
        "fällig am 1.2., 1.4., 1.6., 1.8., 1.10. und 1.12.",
        "Zahlungstermine: 01.02., 01.05., 01.08., 01.11.",
        "Fälligkeiten: 1.2. | 1.4. | 1.6. | 1.8.",
        "Abbuchung am 15. Januar, 15. April, 15. Juli und 15. Oktober",
        "Abschlagstermine: Februar, April, Juni, August, Oktober, Dezember",
        "Die Zahlung erfolgt jeweils im Januar und Juli.",
        "Fälligkeiten\n01.02.2025\n01.04.2025\n01.06.2025",
        "Abschlag 1: 01.02.2025\nAbschlag 2: 01.04.2025\nAbschlag 3: 01.06.2025",
        "Due dates: 1 Feb, 1 May, 1 Aug, 1 Nov",
        "We collect this payment in January, April, July and October.",
        "Collected on 01/02, 01/04, 01/06 and 01/08.",
    ],
)
def test_an_instalment_that_is_due_on_some_days_of_a_year_is_not_one_of_a_month(said: str) -> None:
    found = extracted(written(ENERGY, due=said), "energy")

    assert value(found, "monthly_rate").confidence < 80
    assert "due dates" in value(found, "monthly_rate").why


@pytest.mark.parametrize(
    "said",
    [
        "fällig am 1.1., 1.2., 1.3., 1.4., 1.5. und 1.6.",
        "Zahlungen im November, Dezember, Januar und Februar",
        "Zahlung ab 01.05.2025 und bis 30.04.2027",
        "Ablesung im Januar, April, Juli",
        "Monatlich fällig am 15.",
    ],
)
def test_due_dates_of_every_month_and_other_lists_say_nothing(said: str) -> None:
    assert uneven_due_dates(said) == ""


@pytest.mark.parametrize(
    "role",
    ["Service Provider", "Maintenance Company", "The Customer", "Supplier", "Disclosing Party", "Wartungsfirma",
     "Auftraggeber", "Lieferant", "Der Kunde", "Empfangende Partei"],
)  # fmt: skip
def test_the_name_of_a_role_is_never_a_sure_party(role: str) -> None:
    text = NDA.format(date="This Agreement is made as of March 3, 2025", law="Delaware")
    text = text.replace("Bexley Robotics LLC", role).replace("BEXLEY ROBOTICS LLC", role.upper())
    found = extracted(text, "general")

    named = [each for each in found.found if each.field == "party" and role in (each.value or "")]

    assert all(each.confidence < 80 for each in named)

"""What a premium without a period is for."""

import pytest

from stateward.pipelines.contracts.rules import ACCEPTED_MIN
from tests.pipelines.contracts.capped import INSURANCE, extracted, value, written


@pytest.mark.parametrize(
    "way",
    [
        "Zahlungsweise ............................................ halbjährlich",
        "Zahlungsart: Lastschrift, 1/2-jährlich",
        "Payment frequency ........................................ annual",
        "Billing period\nquarterly",
        "Payment by card.",
    ],
)
def test_a_premium_that_nothing_calls_monthly_is_below_the_line(way: str) -> None:
    found = extracted(
        written(INSURANCE, monthly_premium="Premium: EUR 60.00", way=way), "insurance"
    )

    assert value(found, "monthly_premium").confidence < ACCEPTED_MIN


def test_a_premium_that_is_paid_monthly_need_not_say_it_twice() -> None:
    text = written(INSURANCE, monthly_premium="Premium: EUR 60.00", way="Payment: monthly")

    assert value(extracted(text, "insurance"), "monthly_premium").confidence >= ACCEPTED_MIN

"""Comparing a contract with offers: money to the cent, days to the day, reasons for whatever is left out."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.errors import DeclarationError
from stateward.pipelines.contracts import offers, terms
from stateward.pipelines.contracts.comparison import (
    Comparison,
    ContractValue,
    compare,
    consumption_in,
)
from stateward.pipelines.contracts.offers import Offer, read_catalogue
from stateward.pipelines.contracts.switching import (
    CalendarPeriod,
    earliest_switch,
    period_of,
    shift_date,
)
from stateward.pipelines.contracts.terms import read_terms

TODAY = date(2026, 11, 15)
ENERGY = {"provider": "Vattenfall", "tariff_name": "Easy", "monthly_rate": "10.00", "kwh_price": "0.35"}  # fmt: skip
TELCO = {"provider": "O2", "monthly_rate": "30.00", "data_volume": "20 GB"}
INSURANCE = {
    "policy_type": "Private Haftpflichtversicherung",
    "monthly_premium": "9.00",
    "coverage_amount": "10000000.00",
    "deductible": "150.00",
}


def an_offer(**changes: object) -> Offer:
    given = {"vertical": "energy", "offer": "a", "provider": "A", "name": "A one", "monthly": Decimal(10),
             "unit_price": Decimal("0.30")}  # fmt: skip
    return Offer(**(given | changes))  # type: ignore[arg-type]


def compared(
    values: dict[str, str], *found: Offer, vertical: str = "energy", **more: object
) -> Comparison:
    return compare(
        {name: ContractValue(text) for name, text in values.items()},
        vertical=vertical,
        terms=terms.default_terms()[vertical],
        offers=found,
        today=TODAY,
        **more,  # type: ignore[arg-type]
    )


# What a year costs


def test_a_year_is_twelve_base_prices_and_the_units() -> None:
    answer = compared(ENERGY, an_offer(bonus=Decimal(50)), consumption=Decimal(3000))

    assert answer.present is not None
    assert answer.present.first_year == Decimal("1170.00")  # 120 + 3000 units at 0.35
    (best,) = answer.offers
    assert (best.first_year, best.later_years) == (Decimal("970.00"), Decimal("1020.00"))
    assert (best.saving, best.saving_later) == (Decimal("200.00"), Decimal("150.00"))
    assert answer.answer == "better"
    assert (
        answer.sentence == "A one saves 200.00 EUR in the first year and 150.00 in each later one"
    )


def test_a_bonus_that_only_hides_a_dearer_offer_is_told() -> None:
    dear = an_offer(unit_price=Decimal("0.36"), bonus=Decimal(100))

    answer = compared(ENERGY, dear, consumption=Decimal(3000))

    assert (
        "saves 70.00 EUR in the first year and costs 30.00 more in each later one"
        in answer.sentence
    )


def test_nothing_better_is_an_answer() -> None:
    answer = compared(ENERGY, an_offer(unit_price=Decimal("0.40")), consumption=Decimal(3000))

    assert answer.answer == "nothing_better"
    assert answer.best is None
    assert answer.offers[0].saving == Decimal("-150.00")


def test_a_saving_below_what_was_asked_for_is_nothing_better() -> None:
    answer = compared(ENERGY, an_offer(), consumption=Decimal(3000), saving_min=Decimal(200))

    assert (answer.answer, answer.best) == ("nothing_better", None)


def test_offers_are_ranked_by_the_first_year_then_the_later_ones_then_the_name() -> None:
    found = [
        an_offer(offer="c", bonus=Decimal(12), monthly=Decimal(11)),
        an_offer(offer="b"),
        an_offer(offer="a"),
        an_offer(offer="d", unit_price=Decimal("0.29")),
    ]

    answer = compared(ENERGY, *found, consumption=Decimal(1000))

    assert [(each.rank, each.offer) for each in answer.offers] == [(1, "d"), (2, "a"), (3, "b"), (4, "c")]  # fmt: skip


def test_a_price_of_a_unit_in_cents_is_understood_and_said() -> None:
    answer = compared(ENERGY | {"kwh_price": "35"}, an_offer(), consumption=Decimal(1000))

    assert answer.present is not None
    assert answer.present.units == Decimal("350.00")
    assert "the unit price, 35, is taken as cents: no unit is stated" in answer.assumptions


def test_a_contract_that_names_no_price_is_compared_without_a_saving() -> None:
    values = {name: text for name, text in ENERGY.items() if name != "kwh_price"}

    answer = compared(values, an_offer(), consumption=Decimal(1000))

    assert answer.answer == "unknown_cost"
    assert answer.present is None
    assert (answer.offers[0].rank, answer.offers[0].saving) == (1, None)


@given(
    st.decimals(min_value=0, max_value=500, places=2),
    st.decimals(min_value=0, max_value=2, places=4),
    st.integers(min_value=1, max_value=100_000),
)
def test_a_saving_is_the_difference_of_two_printed_figures(
    monthly: Decimal, price: Decimal, consumption: int
) -> None:
    answer = compared(
        ENERGY, an_offer(monthly=monthly, unit_price=price), consumption=Decimal(consumption)
    )

    (judged,) = answer.offers
    assert answer.present is not None
    assert judged.first_year is not None
    assert judged.saving == answer.present.first_year - judged.first_year
    assert (answer.answer == "better") == (judged.saving > 0)


# Consumption


def test_consumption_comes_from_a_label_the_contract_the_instalment_or_an_assumption() -> None:
    text = "Voraussichtlicher Jahresverbrauch (kWh):\n 4.200 kWh, ermittelt"
    said = [
        compared(ENERGY, consumption=Decimal(2500), text=text),
        compared(ENERGY, text=text),
        compared(ENERGY | {"monthly_rate": "92.00"}),
        compared(ENERGY),
    ]

    assert [each.assumptions[0] for each in said] == [
        "consumption: 2500 kWh a year, as the label says",
        "consumption: 4200 kWh a year, as the contract says",
        "consumption: 2743 kWh a year, by the instalment and the unit price",
        "consumption: 3500 kWh a year, assumed: it is not stated",
    ]


def test_an_instalment_covers_the_units() -> None:
    answer = compared(ENERGY | {"monthly_rate": "92.00"}, an_offer())

    assert answer.present is not None
    assert answer.present.first_year == Decimal("1104.00")
    assert any("taken as an instalment" in said for said in answer.assumptions)


def test_a_high_base_price_beside_a_large_consumption_is_no_instalment() -> None:
    answer = compared(ENERGY | {"monthly_rate": "35.00"}, consumption=Decimal(20_000))

    assert answer.present is not None
    assert answer.present.first_year == Decimal("7420.00")


@pytest.mark.parametrize(
    "text",
    ["annual consumption: none", "Zählerstand 4.200 kWh", "Jahresverbrauch: siehe Rechnung 2024\n\n3 kWh", ""],
)  # fmt: skip
def test_a_figure_that_is_not_the_consumption_is_not_taken_for_it(text: str) -> None:
    wanted = terms.default_terms()["energy"].consumption
    assert wanted is not None

    assert consumption_in(text, wanted) is None


# What cannot be compared


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"monthly": None}, "the catalogue names no monthly price"),
        ({"unit_price": None}, "the catalogue names no unit price"),
        ({"currency": "GBP"}, "its prices are in GBP, the contract's in EUR"),
        ({"valid_from": date(2026, 12, 1)}, "it is not on offer before 2026-12-01"),
        ({"valid_until": date(2026, 11, 14)}, "it was on offer until 2026-11-14"),
        ({"consumption_min": Decimal(5000)}, "it is for at least 5000 kWh a year"),
        ({"consumption_max": Decimal(1000)}, "it is for at most 1000 kWh a year"),
        ({"provider": "Vattenfall", "name": "easy"}, "it is the contract that is being compared"),
    ],
)
def test_an_offer_that_cannot_be_compared_says_why(changes: dict[str, object], reason: str) -> None:
    answer = compared(ENERGY, an_offer(**changes), consumption=Decimal(3000))

    (left_out,) = answer.offers
    assert (left_out.is_comparable, left_out.rank, left_out.reason) == (False, None, reason)
    assert answer.answer == "no_offers"


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        ("20 GB", ""),
        ("20000 MB", ""),
        ("unlimited", ""),
        ("19.9 GB", "less data volume: 19.9 GB instead of 20 GB"),
        ("2000 MB", "less data volume: 2000 MB instead of 20 GB"),
        ("plenty", "its data volume cannot be compared: 'plenty' is no quantity"),
    ],
)
def test_an_offer_must_not_have_less_data(theirs: str, reason: str) -> None:
    offer = an_offer(vertical="telco", traits={"data_volume": theirs})

    answer = compared(TELCO, offer, vertical="telco")

    assert answer.offers[0].reason == reason


def test_nothing_but_unlimited_is_as_good_as_unlimited() -> None:
    found = [
        an_offer(offer=name, traits={"data_volume": name}) for name in ("1000 GB", "Unlimited")
    ]

    answer = compared(TELCO | {"data_volume": "unlimited"}, *found, vertical="telco")

    assert [(each.offer, each.is_comparable) for each in answer.offers] == [
        ("Unlimited", True),
        ("1000 GB", False),
    ]


@pytest.mark.parametrize(
    ("traits", "reason"),
    [
        ({}, ""),
        ({"policy_type": "household"}, "its policy type is household, not Private Haftpflichtversicherung"),
        ({"policy_type": "Kfz-Haftpflicht"}, "its policy type is Kfz-Haftpflicht, not Private Haftpflichtversicherung"),
        ({"coverage_amount": "5000000"}, "less coverage amount: 5000000 instead of 10000000.00"),
        ({"deductible": "151"}, "more deductible: 151 instead of 150.00"),
        ({"deductible": None}, "the catalogue does not state its deductible"),
    ],
)  # fmt: skip
def test_an_insurance_must_not_cover_less(traits: dict[str, str | None], reason: str) -> None:
    equal = {"policy_type": "liability", "coverage_amount": "10000000", "deductible": "150"}
    held = {name: text for name, text in (equal | traits).items() if text is not None}

    answer = compared(INSURANCE, an_offer(vertical="insurance", traits=held), vertical="insurance")

    assert answer.offers[0].reason == reason


def test_what_the_contract_does_not_say_is_not_held_against_offers() -> None:
    values = {name: text for name, text in TELCO.items() if name != "data_volume"}

    answer = compared(values, an_offer(traits={"data_volume": "1 GB"}), vertical="telco")

    assert answer.offers[0].is_comparable
    assert "data volume: the contract states none, so offers may have any" in answer.assumptions


def test_a_vertical_that_is_not_compared_says_so() -> None:
    answer = compare({}, vertical="general", terms=None, offers=(), today=TODAY)

    assert answer.answer == "no_offers"
    assert "'general' is not compared" in answer.sentence


# When one can change


@pytest.mark.parametrize(
    ("end", "notice", "renewal", "on", "notice_by"),
    [
        (date(2026, 12, 31), "1 month", None, date(2027, 1, 1), date(2026, 11, 30)),
        (date(2026, 12, 15), "1 month", None, date(2026, 12, 16), TODAY),  # just in time
        (date(2026, 12, 15), "1 month", "1 year", date(2026, 12, 16), TODAY),
        (date(2026, 12, 14), "1 month", None, date(2026, 12, 15), TODAY),  # a day late: it runs on
        (date(2026, 12, 31), "3 months", "1 year", date(2028, 1, 1), date(2027, 9, 30)),
        (date(2020, 2, 29), "4 weeks", "1 year", date(2027, 3, 1), date(2027, 1, 31)),
        (date(2020, 2, 29), "2 weeks", None, date(2026, 11, 29), TODAY),
        (None, "1 month", None, date(2026, 12, 15), TODAY),
    ],
)
def test_the_first_day_of_another_contract(
    end: date | None, notice: str, renewal: str | None, on: date, notice_by: date
) -> None:
    held = period_of(notice)
    assert held is not None

    switch = earliest_switch(
        today=TODAY, end=end, notice=held, renewal=period_of(renewal) if renewal else None
    )

    assert (switch.on, switch.notice_by) == (on, notice_by)


@given(
    st.dates(min_value=date(1990, 1, 1), max_value=date(2100, 1, 1)),
    st.dates(min_value=date(1990, 1, 1), max_value=date(2100, 1, 1)),
    st.integers(min_value=0, max_value=24),
    st.sampled_from([None, CalendarPeriod(1, "year"), CalendarPeriod(6, "month")]),
)
def test_notice_can_still_be_given_for_every_day_that_is_promised(
    today: date, end: date, months: int, renewal: CalendarPeriod | None
) -> None:
    switch = earliest_switch(
        today=today, end=end, notice=CalendarPeriod(months, "month"), renewal=renewal
    )

    assert today <= switch.notice_by
    assert switch.notice_by <= switch.on
    assert switch.on > end


def test_a_month_from_the_31st_is_the_last_day_of_the_next() -> None:
    assert shift_date(date(2027, 1, 31), CalendarPeriod(1, "month")) == date(2027, 2, 28)
    assert shift_date(date(2028, 2, 29), CalendarPeriod(1, "year"), times=-1) == date(2027, 2, 28)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("3 months", CalendarPeriod(3, "month")),
        ("6 Wochen zum Monatsende", CalendarPeriod(6, "week")),
        ("1 Jahr", CalendarPeriod(1, "year")),
        ("P3M", CalendarPeriod(3, "month")),
        ("14 days", CalendarPeriod(14, "day")),
        ("bald", None),
        ("99999 years", None),
        ("3 Mondphasen", None),
    ],
)
def test_a_length_of_time_is_read(text: str, period: CalendarPeriod | None) -> None:
    assert period_of(text) == period


def test_an_assumed_notice_is_said() -> None:
    answer = compared(ENERGY, an_offer())

    assert "notice: 1 month is assumed: the contract states none" in answer.assumptions


# The catalogue and the terms


def test_the_sample_has_a_dozen_offers_for_each_vertical() -> None:
    counts = offers.verticals(offers.sample_catalogue().offers)

    assert set(counts) == set(terms.default_terms())
    assert min(counts.values()) >= 12


def test_a_catalogue_may_be_json_or_csv_with_any_mark() -> None:
    texts = [
        'vertical,offer,provider,name,monthly,data_volume\ntelco,a,A,"A, small",9.90,5 GB\n',
        "\ufeffvertical;offer;provider;name;monthly;data_volume\r\ntelco;a;A;A, small;9,90;5 GB\r\n",
        '[{"vertical": "telco", "offer": "a", "provider": "A", "name": "A, small", "monthly": 9.90, "note": null,'
        ' "data_volume": "5 GB"}]',
    ]

    (first, second, third) = (read_catalogue(text, source="c").offers for text in texts)

    assert first == second == third
    assert (first[0].monthly, first[0].traits) == (Decimal("9.90"), {"data_volume": "5 GB"})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("vertical,offer,provider,name\nenergy,a,A,\n", "c:2: name: name is missing; every offer has one"),
        ("vertical,offer,provider,name,monthly\nenergy,a,A,B,free\n",
         "c:2: monthly: 'free' is not an amount; write it like 12.50, or leave it empty"),
        ("vertical,offer,provider,name,monthly\nenergy,a,A,B,-1\n",
         "c:2: monthly: '-1' is not an amount; write it like 12.50, or leave it empty"),
        ("vertical,offer,provider,name,valid_until\nenergy,a,A,B,31.12.\n",
         "c:2: valid_until: '31.12.' is not a date; write it like 2026-12-31, or leave it empty"),
        ("vertical,offer,provider,name\nenergy,a,A,B\nenergy,a,A,C\n",
         "c:3: offer: there are two offers 'a' of energy"),
        ("vertical,offer,provider,name\nenergy,a,A,B,C\n", "c:2: more cells than columns: ['C']"),
        ('{"offers": []}', "c: must be a JSON list of objects whose values are texts or numbers: "
         "Expected `array`, got `object`"),
    ],
)  # fmt: skip
def test_a_wrong_catalogue_is_refused_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        read_catalogue(text, source="c")

    assert str(refused.value) == fault


def test_terms_of_a_new_vertical_are_a_few_lines() -> None:
    text = "version: 1\nverticals: {gym: {monthly: fee, keep: [{field: visits, want: at_least}]}}"
    gym = read_terms(text, source="gym.yaml")["gym"]
    offer = an_offer(vertical="gym", unit_price=None, traits={"visits": "8"})

    answer = compare(
        {"fee": ContractValue("25"), "visits": ContractValue("4")},
        vertical="gym", terms=gym, offers=[offer], today=TODAY,
    )  # fmt: skip

    assert answer.offers[0].saving == Decimal("180.00")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{notice: soon}", "t: verticals.gym.notice: 'soon' is not a length of time; write it like '3 months'"),
        ("{unit_price: p}", "t: verticals.gym.unit_price: a unit price needs a consumption"),
        ("{base_assumed: much}", "t: verticals.gym.base_assumed: 'much' is not an amount; write it like '3500'"),
    ],
)  # fmt: skip
def test_wrong_terms_are_refused(text: str, fault: str) -> None:
    body = text.replace("{", "{monthly: fee, ", 1)

    with pytest.raises(DeclarationError) as refused:
        read_terms(f"version: 1\nverticals: {{gym: {body}}}", source="t")

    assert str(refused.value).replace("t:2:", "t:") == fault

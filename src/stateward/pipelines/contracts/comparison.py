"""What a contract costs in a year, what the offers of a catalogue would cost, and when one could switch.

Money is Decimal throughout. What is unknown is assumed by data or settings and listed as an assumption; an offer that
is worse in something, or lacks a price, is listed with the reason and not ranked. "Nothing is better" is an answer.
Everything is an argument, the day of the comparison too: the same arguments give the same answer.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, TypeAlias

import msgspec
from rapidfuzz import fuzz

from stateward.pipelines.contracts.offers import Offer
from stateward.pipelines.contracts.switching import (
    CalendarPeriod,
    SwitchDate,
    day_of,
    earliest_switch,
    period_of,
)
from stateward.pipelines.contracts.terms import ComparisonTerms, ConsumptionTerms, KeepRule
from stateward.pipelines.kit.money import guess_number, typed_number

MONTHS = 12
CENT = Decimal("0.01")
UNIT_PRICE_MAX = Decimal(2)  # a higher unit price is in cents: no kWh costs two euros
SAME_NAME = 90  # of 100: similarity of two spellings of one name
COVERED = Decimal("0.8")  # of the price of a year's units: an instalment covers at least that
BETWEEN_CHARS_MAX = 60
CONSUMPTION_MAX = 10_000_000
UNLIMITED = re.compile(r"unlimited|unbegrenzt|unlimitiert|flat|infinite|∞", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d[\d.,]*")
_SCALES = {"tb": Decimal(1000), "gb": Decimal(1), "mb": Decimal("0.001")}

Answer: TypeAlias = Literal["better", "nothing_better", "no_offers", "unknown_cost"]
NO_NOTICE = "no notice"  # the value of a contract that can be left without any


class ContractValue(msgspec.Struct, frozen=True):
    """A term of the contract: its canonical value and, where it has one, its unit."""

    text: str
    unit: str = ""


class YearlyCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a year, and its parts."""

    first_year: Decimal
    later_years: Decimal
    base: Decimal
    units: Decimal
    bonus: Decimal


class ComparedOffer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One offer: its rank among the comparable ones, or the reason why it is not comparable."""

    offer: str
    provider: str
    name: str
    is_comparable: bool
    rank: int | None = None
    first_year: Decimal | None = None
    later_years: Decimal | None = None
    saving: Decimal | None = None
    saving_later: Decimal | None = None
    bonus: Decimal | None = None
    months_min: str = ""
    notice: str = ""
    note: str = ""
    reason: str = ""
    is_sample: bool = False  # of the invented catalogue that ships


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer. `assumptions` are sentences; `offers` are the ranked ones first, then the others."""

    answer: Answer
    sentence: str
    vertical: str
    today: date
    currency: str
    present: YearlyCost | None
    switch: SwitchDate | None
    assumptions: list[str]
    offers: list[ComparedOffer]

    @property
    def best(self) -> ComparedOffer | None:
        """The offer that saves most, if any saves."""
        first = next((each for each in self.offers if each.rank == 1), None)
        return first if self.answer == "better" else None


def compare(
    values: Mapping[str, ContractValue],
    *,
    vertical: str,
    terms: ComparisonTerms | None,
    offers: Sequence[Offer],
    today: date,
    consumption: Decimal | None = None,
    text: str = "",
    saving_min: Decimal = Decimal(0),
    currency: str = "EUR",
) -> Comparison:
    """Compare a contract with offers.

    `consumption` is given by a person; `text` is that of the contract, which may state it too.
    """
    if terms is None:
        return _without_answer(
            vertical, today, currency, "no comparison terms are configured for it"
        )
    costs = _ContractCosts(values, terms, vertical=vertical, today=today, currency=currency)
    costs.determine_consumption(consumption, text)
    present = costs.present()
    switch = costs.switch()
    compared = [costs.compare(offer, present) for offer in offers]
    ranked = _rank(each for each in compared if each.is_comparable)
    others = [each for each in compared if not each.is_comparable]
    answer, sentence = _answer(ranked, present, len(offers), saving_min, currency)
    return Comparison(
        answer=answer,
        sentence=sentence,
        vertical=vertical,
        today=today,
        currency=currency,
        present=None if present is None else _round(present),
        switch=switch,
        assumptions=costs.assumptions,
        offers=[*ranked, *others],
    )


class _ContractCosts:
    """The costs of one contract; assumptions are collected on the way."""

    def __init__(
        self,
        values: Mapping[str, ContractValue],
        terms: ComparisonTerms,
        *,
        vertical: str,
        today: date,
        currency: str,
    ) -> None:
        self._values = values
        self._terms = terms
        self._vertical = vertical
        self._today = today
        self._currency = currency
        self._consumption = Decimal(0)
        self.assumptions: list[str] = []

    def determine_consumption(self, given: Decimal | None, text: str) -> None:
        """The consumption of a year: given by a person, else stated or implied by the contract, else assumed."""
        wanted = self._terms.consumption
        if wanted is None:
            return
        sources = (
            (given, "as the label says"),
            (self._amount(wanted.field), "as the contract says"),
            (consumption_in(text, wanted), "as the contract says"),
            (self._implied_consumption(), "by the instalment and the unit price"),
            (typed_number(wanted.assumed), "assumed: it is not stated"),
        )
        amount, why = next((amount, why) for amount, why in sources if amount is not None)
        self._consumption = amount
        self.assumptions.append(f"consumption: {amount:f} {wanted.unit} a year, {why}")

    def present(self) -> YearlyCost | None:
        """What the contract costs in a year; None where it does not say enough."""
        monthly = self._amount(self._terms.monthly)
        if monthly is None:
            return None
        if not self._terms.unit_price:
            return _yearly(monthly, Decimal(0))
        if self._is_instalment(monthly):
            said = f"the monthly rate of {monthly:f} {self._currency} is taken as an instalment that includes the units"
            self.assumptions.append(said)
            return _yearly(monthly, Decimal(0))
        price = self._unit_price()
        return None if price is None else _yearly(monthly, price * self._consumption)

    def switch(self) -> SwitchDate:
        """When another contract could begin."""
        stated = self._values.get("cancellation_period")
        notice = _notice(stated.text) if stated else None
        if notice is None:
            notice = period_of(self._terms.notice) or CalendarPeriod(1, "month")
            self.assumptions.append(f"notice: {notice} is assumed: the contract states none")
        renewal = period_of(self._terms.renewal) if self._terms.renewal else None
        ends = self._values.get("contract_end")
        end = day_of(ends.text) if ends else None
        switch = earliest_switch(today=self._today, end=end, notice=notice, renewal=renewal)
        if end is not None and switch.on > end + timedelta(days=1):
            how = f"by {renewal} each time" if renewal else "without an end"
            self.assumptions.append(f"renewal: it is assumed to continue {how}")
        return switch

    def compare(self, offer: Offer, present: YearlyCost | None) -> ComparedOffer:
        """One offer against the contract."""
        about = {
            "offer": offer.offer,
            "provider": offer.provider,
            "name": offer.name,
            "months_min": offer.months_min,
            "notice": offer.notice,
            "note": offer.note,
        }
        reason = self._reason(offer)
        if reason:
            return ComparedOffer(**about, is_comparable=False, reason=reason)  # type: ignore[arg-type]
        assert offer.monthly is not None  # noqa: S101 - `_reason` refuses it
        units = (offer.unit_price or Decimal(0)) * self._consumption
        cost = _round(_yearly(offer.monthly, units, bonus=offer.bonus or Decimal(0)))
        mine = None if present is None else _round(present)
        return ComparedOffer(
            **about,  # type: ignore[arg-type]
            is_comparable=True,
            first_year=cost.first_year,
            later_years=cost.later_years,
            bonus=cost.bonus,
            saving=None if mine is None else mine.first_year - cost.first_year,
            saving_later=None if mine is None else mine.later_years - cost.later_years,
        )

    def _reason(self, offer: Offer) -> str:
        """Why an offer cannot be compared; nothing if it can."""
        if offer.monthly is None:
            return "the catalogue names no monthly price"
        if self._terms.unit_price and offer.unit_price is None:
            return "the catalogue names no unit price"
        if offer.currency != self._currency:
            return f"its prices are in {offer.currency}, the contract's in {self._currency}"
        if offer.valid_from is not None and self._today < offer.valid_from:
            return f"it is not on offer before {offer.valid_from}"
        if offer.valid_until is not None and self._today > offer.valid_until:
            return f"it was on offer until {offer.valid_until}"
        if self._is_present(offer):
            return "it is the contract that is being compared"
        return self._outside_consumption(offer) or self._what_is_worse(offer)

    def _outside_consumption(self, offer: Offer) -> str:
        wanted = self._terms.consumption
        least, most = offer.consumption_min, offer.consumption_max
        if wanted is None or (least is None and most is None):
            return ""
        if least is not None and self._consumption < least:
            return f"it is for at least {least:f} {wanted.unit} a year"
        if most is not None and self._consumption > most:
            return f"it is for at most {most:f} {wanted.unit} a year"
        return ""

    def _what_is_worse(self, offer: Offer) -> str:
        for keep in self._terms.keep:
            mine = self._values.get(keep.field)
            if mine is None or not mine.text:
                self._assume_any(keep)
                continue
            theirs = offer.traits.get(keep.field)
            if theirs is None:
                return f"the catalogue does not state its {_words(keep.field)}"
            reason = _worse(keep, mine, ContractValue(theirs))
            if reason:
                return reason
        return ""

    def _assume_any(self, keep: KeepRule) -> None:
        said = f"{_words(keep.field)}: the contract states none, so offers may have any"
        if said not in self.assumptions:
            self.assumptions.append(said)

    def _is_present(self, offer: Offer) -> bool:
        provider = self._values.get("provider")
        if provider is None or not _is_same(provider.text, offer.provider):
            return False
        names = (self._values.get(each) for each in ("tariff_name", "plan_name", "policy_name"))
        return any(each is not None and _is_same(each.text, offer.name) for each in names)

    def _is_instalment(self, monthly: Decimal) -> bool:
        """Whether the monthly rate includes the units: too high for a base price, and a year of it covers them."""
        least = self._terms.instalment
        if least is None or monthly < least:
            return False
        price = self._unit_price()
        return price is None or monthly * MONTHS >= price * self._consumption * COVERED

    def _implied_consumption(self) -> Decimal | None:
        """The consumption that an instalment implies."""
        monthly, price = self._amount(self._terms.monthly), self._unit_price()
        least = self._terms.instalment
        if monthly is None or not price or least is None or monthly < least:
            return None
        units = (monthly - self._terms.base) * MONTHS / price
        return units.quantize(Decimal(1), ROUND_HALF_UP) if units > 0 else None

    def _unit_price(self) -> Decimal | None:
        """The unit price in the main unit of the currency."""
        value = self._values.get(self._terms.unit_price)
        amount = self._amount(self._terms.unit_price)
        if value is None or amount is None:
            return None
        unit = value.unit.strip().lower()
        if unit.startswith(("ct", "cent", "¢")):
            return amount / 100
        if not unit and amount >= UNIT_PRICE_MAX:
            said = f"the unit price, {amount:f}, is taken as cents: no unit is stated"
            if said not in self.assumptions:
                self.assumptions.append(said)
            return amount / 100
        return amount

    def _amount(self, field: str) -> Decimal | None:
        value = self._values.get(field)
        return None if value is None else typed_number(value.text)


def _notice(text: str) -> CalendarPeriod | None:
    """The notice that a contract wants; one that says it wants none may be left at once."""
    return CalendarPeriod(0, "day") if text == NO_NOTICE else period_of(text)


def _yearly(monthly: Decimal, units: Decimal, *, bonus: Decimal = Decimal(0)) -> YearlyCost:
    later = monthly * MONTHS + units
    return YearlyCost(
        first_year=later - bonus, later_years=later, base=monthly * MONTHS, units=units, bonus=bonus
    )


def _round(yearly: YearlyCost) -> YearlyCost:
    """To the cent, at the very end."""
    amounts = {name: getattr(yearly, name) for name in YearlyCost.__struct_fields__}
    return YearlyCost(
        **{name: value.quantize(CENT, ROUND_HALF_UP) for name, value in amounts.items()}
    )


def _rank(offers: Iterable[ComparedOffer]) -> list[ComparedOffer]:
    """The cheapest first year first; then the cheaper later years, then the name."""

    def place(each: ComparedOffer) -> tuple[Decimal, Decimal, str]:
        return each.first_year or Decimal(0), each.later_years or Decimal(0), each.offer

    ordered = sorted(offers, key=place)
    return [msgspec.structs.replace(each, rank=rank) for rank, each in enumerate(ordered, start=1)]


def _answer(
    ranked: Sequence[ComparedOffer],
    present: YearlyCost | None,
    count: int,
    saving_min: Decimal,
    currency: str,
) -> tuple[Answer, str]:
    if not ranked:
        return "no_offers", f"none of the {count} offers of the catalogue can be compared with it"
    best = ranked[0]
    if present is None or best.saving is None:
        said = "the contract does not state what it costs in a year; the offers are ranked by their price"
        return "unknown_cost", said
    if best.saving <= 0 or best.saving < saving_min:
        least = f" by {saving_min:f} {currency} or more" if saving_min > 0 else ""
        return "nothing_better", f"none of {len(ranked)} comparable offers is better{least}"
    name = best.name if best.provider in best.name else f"{best.provider} {best.name}"
    later = best.saving_later or Decimal(0)
    after = f"{later:f}" if later >= 0 else f"costs {-later:f} more"
    said = (
        f"{name} saves {best.saving:f} {currency} in the first year and {after} in each later one"
    )
    return "better", said


def _without_answer(vertical: str, today: date, currency: str, why: str) -> Comparison:
    return Comparison(
        answer="no_offers",
        sentence=f"a contract of the kind {vertical!r} is not compared: {why}",
        vertical=vertical,
        today=today,
        currency=currency,
        present=None,
        switch=None,
        assumptions=[],
        offers=[],
    )


def _worse(keep: KeepRule, mine: ContractValue, theirs: ContractValue) -> str:
    """In what an offer is worse; "" if in nothing."""
    what = _words(keep.field)
    if keep.want == "same":
        same = _is_same(_kind(mine.text, keep.kinds), _kind(theirs.text, keep.kinds))
        return "" if same else f"its {what} is {theirs.text}, not {mine.text}"
    have, get = quantity_of(mine), quantity_of(theirs)
    if have is None or get is None:
        unread = mine if have is None else theirs
        return f"its {what} cannot be compared: {unread.text!r} is no quantity"
    if keep.want == "at_least" and get < have:
        return f"less {what}: {theirs.text} instead of {_amount_text(mine)}"
    if keep.want == "at_most" and get > have:
        return f"more {what}: {theirs.text} instead of {_amount_text(mine)}"
    return ""


def quantity_of(value: ContractValue) -> Decimal | None:
    """A comparable quantity: gigabytes, or money; unlimited is more than any."""
    if UNLIMITED.search(value.text):
        return Decimal("Infinity")
    found = _NUMBER.search(value.text)
    amount = typed_number(found[0]) if found else None
    if found is None or amount is None:
        return None
    unit = (value.text[found.end() :].strip() or value.unit).strip().lower()
    return amount * _SCALES.get(unit[:2], Decimal(1))


def consumption_in(text: str, wanted: ConsumptionTerms) -> Decimal | None:
    """The yearly consumption that a contract states: a number with its unit, close behind one of the words."""
    if not wanted.words or not text:
        return None
    words = "|".join(re.escape(word) for word in wanted.words)
    figure = rf"(?P<figure>\d[\d.,' \u00a0]*)\s*{re.escape(wanted.unit)}(?!\w)"
    between = rf"[^\d\n]{{0,{BETWEEN_CHARS_MAX}}}\n?[^\d\n]{{0,{BETWEEN_CHARS_MAX}}}"
    found = re.search(rf"(?:{words}){between}{figure}", text, re.IGNORECASE)
    amount = guess_number(found["figure"], ",", is_fine=False) if found else None
    return amount if amount is not None and 0 < amount < CONSUMPTION_MAX else None


def _kind(text: str, kinds: Mapping[str, Sequence[str]]) -> str:
    """The kind that a text means; the text itself if it is unknown."""
    low = text.casefold()
    return next((kind for kind, words in kinds.items() if any(word in low for word in words)), text)


def _is_same(one: str, other: str) -> bool:
    return fuzz.ratio(one.casefold().strip(), other.casefold().strip()) >= SAME_NAME


def _words(field: str) -> str:
    return field.replace("_", " ")


def _amount_text(value: ContractValue) -> str:
    return f"{value.text} {value.unit}".strip()

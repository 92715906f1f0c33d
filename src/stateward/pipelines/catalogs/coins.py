"""Prices of JSON objects whose digits are told without their decimal sign: in cents, or beside a scale.

All numbers are texts here, with the digits that the file prints.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from stateward.pipelines.catalogs.headings import PRICES, role_of
from stateward.pipelines.catalogs.schema_org import JsonObject, JsonValue
from stateward.pipelines.kit.money import EXPONENTS

# Amounts without their decimal sign: how many digits stand behind it, or that the amount is of the smallest coin.
SCALES = frozenset(
    {"scale", "exponent", "decimals", "decimalplaces", "fractiondigits", "minorunits", "precision", "minorunit",
     "currencyminorunit"}
)  # fmt: skip
SCALE_MAX = 4
SMALLEST = frozenset({"centamount", "cents", "amountcents", "amountincents", "minor", "minoramount", "amountminor",
                      "valueincents", "amountinminorunits"})  # fmt: skip
# The same at the end of a name: `price_cents`, `priceInCents`.
_IN_SMALLEST = re.compile(
    r"(?P<price>.+?)[ _-]?(?:in[ _-]?)?(?:cents?|pence|minor(?:[ _-]?units?)?)", re.IGNORECASE
)
# What an amount is called inside of an object that is a price: `prix: {montant: 4.9, devise: EUR}`.
AMOUNTS = frozenset(
    {
        "amount",
        "value",
        "montant",
        "valeur",
        "betrag",
        "wert",
        "importe",
        "monto",
        "valor",
        "importo",
        "bedrag",
    }
)


def in_usual_coin(value: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """An object with its prices in euros where their names say that they are in cents: `price_cents`."""
    named = {
        name: found["price"]
        for name in value
        if (found := _IN_SMALLEST.fullmatch(name)) and role_of(found["price"])[0] in PRICES
    }
    if not named:
        return value
    places = _places_of_currency(value)
    told = ((name, _digits(each)) for name, each in value.items())
    return {
        **value,
        **{
            named[name]: _scale(text, places)
            for name, text in told
            if name in named and text.isdecimal() and not value.get(named[name])
        },
    }


def _places_of_currency(value: Mapping[str, JsonValue]) -> int:
    """How many digits stand behind the sign of the currency that an object names; two if it names none."""
    currency = next(
        (_digits(each) for name, each in value.items() if role_of(name)[0] == "currency"), ""
    )
    return EXPONENTS.get(currency.upper(), 2)


def _scale(digits: str, places: int) -> str:
    return f"{Decimal(digits).scaleb(-places):f}"


def with_decimals(price: JsonObject) -> JsonObject:
    """A price with the decimals that it tells apart from its digits: `{amount: 2190, scale: 2}` is 21.90."""
    names = {key.lower().replace("_", ""): key for key in price}
    smallest = next((names[each] for each in names if each in SMALLEST), "")
    amount = smallest or next((names[each] for each in names if each in AMOUNTS), "")
    scale = next((_digits(price[names[each]]) for each in names if each in SCALES), "")
    if not scale and smallest:
        scale = str(_places_of_currency(price))
    digits, places = _digits(price.get(amount, "")), scale.lstrip("-")
    if not digits.isdecimal() or not places.isdecimal() or int(places) > SCALE_MAX:
        return price
    told = {key: each for key, each in price.items() if key != amount}
    return {"value": _scale(digits, int(places)), **told}


def all_with_decimals(prices: JsonObject) -> JsonObject:
    """The same for several prices beside one scale: `{price: "1299", sale_price: "999", currency_minor_unit: 2}`."""
    scale = next(
        (_digits(each) for key, each in prices.items() if key.lower().replace("_", "") in SCALES),
        "",
    )
    if not scale.isdecimal() or int(scale) > SCALE_MAX:
        return prices
    return {
        key: _scale(text, int(scale))
        if role_of(key)[0] in PRICES and (text := _digits(each)).isdecimal()
        else each
        for key, each in prices.items()
    }


def is_amount(value: JsonValue) -> bool:
    names = {name.lower() for name in value} if isinstance(value, dict) else set[str]()
    return bool(names & AMOUNTS) and any(role_of(name)[0] == "currency" for name in names)


def _digits(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""

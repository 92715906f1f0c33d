"""Values as people print them, in German and in English, in one of many manners."""

import random
from datetime import date
from decimal import Decimal

MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "en": "January February March April May June July August September October November December".split(),
}
COUNTS = {
    "de": {1: "einem", 2: "zwei", 3: "drei", 4: "vier", 6: "sechs", 12: "zwölf", 14: "vierzehn", 30: "dreißig"},
    "en": {1: "one", 2: "two", 3: "three", 4: "four", 6: "six", 12: "twelve", 14: "fourteen", 30: "thirty"},
}  # fmt: skip
UNITS = {
    "de": {"day": ("Tag", "Tage"), "week": ("Woche", "Wochen"), "month": ("Monat", "Monate"), "year": ("Jahr", "Jahre")},
    "en": {"day": ("day", "days"), "week": ("week", "weeks"), "month": ("month", "months"), "year": ("year", "years")},
}  # fmt: skip


class Printer:
    """One manner of printing: chosen once, held to for the whole contract."""

    def __init__(self, rng: random.Random, language: str) -> None:
        self.rng = rng
        self.language = language
        self.dates = rng.randrange(6)
        self.money = rng.randrange(4)
        self.has_cents_price = rng.random() < 0.8
        self.has_word_counts = rng.random() < 0.25

    def date(self, iso: str) -> str:
        """A date."""
        day = date.fromisoformat(iso)
        month = MONTHS[self.language][day.month - 1]
        if self.language == "de":
            return (
                f"{day:%d.%m.%Y}", f"{day:%d.%m.%Y}", f"{day.day}. {month} {day.year}", f"{day:%d.%m.%y}",
                f"{day.day}.{day.month}.{day.year}", iso,
            )[self.dates]  # fmt: skip
        ending = {1: "st", 2: "nd", 3: "rd"}.get(
            day.day % 10 if day.day not in (11, 12, 13) else 0, "th"
        )
        return (
            f"{day.day} {month} {day.year}", f"{day:%d/%m/%Y}", f"{day.day}{ending} {month} {day.year}",
            f"{month} {day.day}, {day.year}", iso, f"{day:%d.%m.%Y}",
        )[self.dates]  # fmt: skip

    def amount(self, value: str, *, is_short: bool = False) -> str:
        """An amount with its currency."""
        number = Decimal(value)
        figure = self.figure(number, is_short=is_short)
        if self.language == "de":
            return (f"{figure} €", f"{figure} EUR", f"{figure} Euro", f"EUR {figure}")[self.money]
        return (f"EUR {figure}", f"€{figure}", f"{figure} EUR", f"€ {figure}")[self.money]

    def figure(self, number: Decimal, *, is_short: bool = False, places: int = 2) -> str:
        """A figure without a currency."""
        text = f"{number:,.{places}f}"
        if is_short and text.endswith(".00"):
            text = text[:-3]
        if self.language == "de":
            text = text.replace(",", "_").replace(".", ",").replace("_", ".")
        return text

    def sum(self, value: str) -> str:
        """A large amount: in full, or in millions."""
        number = Decimal(value)
        if number >= 1_000_000 and self.rng.random() < 0.5:
            millions = number / 1_000_000
            count = f"{millions.normalize():f}"
            if self.language == "de":
                return f"{count.replace('.', ',')} " + self.rng.choice(
                    ["Mio. €", "Millionen Euro", "Mio. EUR"]
                )
            return self.rng.choice([f"EUR {count} million", f"€{count}m", f"EUR {count}m"])
        return self.amount(value, is_short=self.rng.random() < 0.6)

    def price(self, value: str) -> str:
        """A price of a kWh."""
        number = Decimal(value)
        if self.has_cents_price:
            cents = self.figure(number * 100)
            if self.language == "de":
                return f"{cents} " + self.rng.choice(
                    ["ct/kWh", "Cent/kWh", "ct je kWh", "Cent pro Kilowattstunde", "Ct/kWh"]
                )
            return f"{cents} " + self.rng.choice(["ct/kWh", "cents per kWh", "ct per kWh"])
        figure = self.figure(number, places=4)
        if self.language == "de":
            return f"{figure} " + self.rng.choice(["€/kWh", "EUR/kWh", "Euro je kWh"])
        return self.rng.choice([f"EUR {figure} per kWh", f"€{figure}/kWh", f"{figure} EUR/kWh"])

    def period(self, value: str, *, is_dative: bool = False) -> str:
        """A period of time."""
        count_text, unit = value.split()
        count, unit = int(count_text), unit.rstrip("s")
        one, many = UNITS[self.language][unit]
        if self.has_word_counts and count in COUNTS[self.language]:
            number = COUNTS[self.language][count]
            if self.language == "de" and count == 1:
                number = (
                    ("einer" if unit == "week" else "einem")
                    if is_dative
                    else ("eine" if unit == "week" else "ein")
                )
        else:
            number = str(count)
        word = one if count == 1 else many
        if self.language == "de" and is_dative and count > 1 and not word.endswith("n"):
            word += "n"
        return f"{number} {word}"

    def volume(self, value: str) -> str:
        """A volume of data."""
        if value == "unlimited":
            words = {
                "de": ["unbegrenzt", "unlimitiert", "Unlimited"],
                "en": ["unlimited", "Unlimited"],
            }
            return self.rng.choice(words[self.language])
        return self.rng.choice([value, value, value.replace(" ", "")])

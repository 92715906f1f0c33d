"""GTIN-8, -12, -13 and -14: the digits, and whether the last one checks."""

from typing import NamedTuple

LENGTHS = (8, 12, 13, 14)
PADDED = 14
# Spreadsheets write long numbers as 4.00638E+12: the digits behind are lost.
_SEPARATORS = dict.fromkeys(map(ord, " -\u00a0\u2010\u2011\u2013\t'\u200b"))
# The sum of the digits, each second one from the right tripled, read off the bytes: "0" is 48.
_OFFSETS = {length: 48 * (length // 2 * 3 + length - length // 2) for length in LENGTHS}

SCIENTIFIC, BAD_LENGTH, BAD_CHECKSUM, NO_DIGITS, PLACEHOLDER = (
    "GTIN_SCIENTIFIC", "BAD_GTIN_LENGTH", "BAD_GTIN_CHECKSUM", "BAD_GTIN", "PLACEHOLDER_GTIN",
)  # fmt: skip


class Gtin(NamedTuple):
    """The digits of a GTIN, or the code of what is wrong; `is_restored` if a lost zero was put in front."""

    digits: str
    fault: str = ""
    is_restored: bool = False


def read_gtin(text: str) -> Gtin:
    """A printed GTIN."""
    digits = text.translate(_SEPARATORS)
    if not (digits.isascii() and digits.isdigit()):
        return Gtin("", SCIENTIFIC if _is_scientific(digits) else NO_DIGITS)
    if not digits.strip("0"):
        return Gtin("", PLACEHOLDER)
    if len(digits) in LENGTHS:
        return Gtin(digits) if has_check_digit(digits) else Gtin("", BAD_CHECKSUM)
    longer = next((length for length in LENGTHS if length == len(digits) + 1), 0)
    if longer and has_check_digit(restored := digits.zfill(longer)):
        return Gtin(restored, is_restored=True)
    return Gtin("", BAD_LENGTH)


def is_plain_gtin(text: str) -> bool:
    """Whether a text is nothing but a valid GTIN: nearly every one is, and this is quick."""
    return (
        text.isdigit()
        and text.isascii()
        and len(text) in _OFFSETS
        and has_check_digit(text)
        and text != "0" * len(text)
    )


def has_check_digit(digits: str) -> bool:
    """Whether the last of 8, 12, 13 or 14 digits is the check digit of the others."""
    data = digits.encode()
    return (3 * sum(data[-2::-2]) + sum(data[::-2]) - _OFFSETS[len(data)]) % 10 == 0


def _is_scientific(text: str) -> bool:
    mantissa, mark, exponent = text.casefold().replace(",", ".").partition("e")
    return bool(mark) and exponent.lstrip("+").isdigit() and mantissa.replace(".", "", 1).isdigit()

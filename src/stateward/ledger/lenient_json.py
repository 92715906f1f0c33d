"""JSON as old programs wrote it: what no strict reader takes, read so that nothing of a line is lost.

Python's own `json` writes `NaN` and `Infinity`, numbers of any length, and halves of characters; editors put a mark
before the first line. Such values are kept as text. What is not even that is refused with its place: bytes that are no
UTF-8 are never guessed at, for a guess could make two documents one.
"""

import json
import math

from stateward.core.errors import InvalidRequest
from stateward.core.model import Json

BYTE_ORDER_MARK = "\ufeff"
DIGITS_MAX = 18
"""Up to so many, a number surely has 64 bits."""


def loosely(text: bytes) -> Json:
    """The value that a line holds. Raises `InvalidRequest` with the reason if it holds none."""
    try:
        plain = text.decode("utf-8").removeprefix(BYTE_ORDER_MARK).rstrip()
        found: Json = json.loads(plain, parse_constant=str, parse_float=_fraction, parse_int=_whole)
        return _whole_characters(found)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"this is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"this is not JSON: {error.msg} (character {error.pos + 1})"
        ) from error
    except RecursionError as error:
        raise InvalidRequest("this is nested too deeply") from error


def _fraction(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _whole(text: str) -> int | str:
    return int(text) if len(text) <= DIGITS_MAX else text


def _whole_characters(value: Json) -> Json:
    """Halves of characters as the escapes that stand for them in JSON."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_whole_characters(each) for each in value]
    if isinstance(value, dict):
        return {str(_whole_characters(key)): _whole_characters(each) for key, each in value.items()}
    return value

"""A JSON document that ends too early, up to the last part of its outermost list that is whole."""

import re

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\]]')
_CLOSED_BY = {"{": "}", "[": "]"}


def whole_part(text: str) -> str:
    """The document without what was cut off, closed again; "" if no object of its outermost list is whole."""
    opened: list[str] = []
    outermost = 0  # how deep the outermost list of objects is
    part = ""
    for found in _TOKENS.finditer(text):
        sign = found[0]
        if sign in "{[":
            opened.append(sign)
            is_listed = sign == "{" and opened[-2:-1] == ["["]
            if is_listed and not 0 < outermost < len(opened):
                outermost = len(opened)
        elif sign in "}]":
            if not opened or _CLOSED_BY[opened.pop()] != sign:
                break
            if sign == "}" and len(opened) + 1 == outermost:
                part = text[: found.end()] + "".join(_CLOSED_BY[each] for each in reversed(opened))
        elif sign == '"':  # of a text that never ends
            break
    return part

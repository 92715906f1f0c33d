"""Whether a text is a unit of measurement; a currency is none."""

import re

# What stands in brackets after a heading is a unit only if it is made of these: banks write "Amount (total)" and
# "Kundenreferenz (End-to-End)".
_UNIT = re.compile(
    r"(?:da|[fpnuµμmcdhkMGT])?(?:m|g|s|A|K|mol|cd|L|l|Hz|N|Pa|J|W|Wh|V|Ω|ohm|T|F|C|S|eV|cal|bar|M|Da|U|IU|Bq|Gy|Sv|lx|B)"
    r"|[°º]?[CF]|deg[CFK]?|degrees|rad|sr|%|‰|pct|percent|pp[mbt]|sec|min|h|hrs?|d|a|yr|(?:day|hour|minute|second|month|year)s?"
    r"|n|counts?|px|bp|pH|mmHg|ha|rpm|dBm?|a\.u\.|in|inch(?:es)?|ft|lbs?|oz|mph|psi|t|individuals|cells|cfu|copies",
    re.IGNORECASE,
)
_UNIT_PARTS = re.compile(r"[\s()/·*^.\-⁻¹²³0-9\u00d7\u2212]+(?!u\.)")


def is_unit(text: str) -> bool:
    """Whether all parts of a text are units: `g/kg`, `mg/100 g`, `W/(m·K)`."""
    parts = [text] if _UNIT.fullmatch(text) else [*filter(None, _UNIT_PARTS.split(text))]
    return bool(parts) and all(map(_UNIT.fullmatch, parts))

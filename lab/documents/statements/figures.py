"""Amounts and dates, written as banks write them."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal


def figure(value: Decimal, style: str) -> str:
    """An amount without its sign, in a style: what parts thousands, and what the decimals."""
    group, _, point = style.partition("_")
    whole, _, rest = f"{abs(value):f}".partition(".")
    mark = {
        "narrow": "\u202f",
        "comma": ",",
        "dot": ".",
        "space": " ",
        "nbsp": "\u00a0",
        "apostrophe": "'",
        "plain": "",
        "lakh": ",",
        "dollar": ",",
    }[group]
    if group == "lakh" and len(whole) > 3:
        head, tail = whole[:-3], whole[-3:]
        parts = [head[max(0, at - 2) : at] for at in range(len(head), 0, -2)][::-1]
        whole = ",".join([*parts, tail])
    else:
        whole = mark.join([whole[max(0, at - 3) : at] for at in range(len(whole), 0, -3)][::-1])
    shown = f"{whole}{',' if point == 'comma' else '.'}{rest}" if rest else whole
    return f"${shown}" if group == "dollar" else shown


def dated(day: date, style: str, months: Sequence[str]) -> str:
    """A date as a style prints it."""
    d, m, y = day.day, day.month, day.year
    name = months[m - 1]
    dm, md, yy = f"{d:02}", f"{m:02}", f"{y % 100:02}"
    return {
        "dmy_slash": f"{dm}/{md}/{y}", "dmy_dash": f"{dm}-{md}-{y}", "dmy_dot": f"{dm}.{md}.{y}",
        "dmy_dot_short": f"{dm}.{md}.{yy}", "dmy_dot_plain": f"{d}.{m}.{y}", "dm_dot": f"{dm}.{md}.",
        "dm_slash": f"{dm}/{md}", "dmy_short": f"{dm}/{md}/{yy}", "d_mon": f"{d} {name}",
        "d_mon_yy": f"{dm} {name} {yy}", "d_mon_yyyy": f"{d} {name} {y}", "dMONyy": f"{dm}{name.upper()}{yy}",
        "iso": day.isoformat(), "iso_short": f"{yy}-{md}-{dm}", "ymd_slash": f"{y}/{md}/{dm}",
        "mdy_slash": f"{md}/{dm}/{y}", "md_slash": f"{md}/{dm}", "mon_d": f"{name} {d}", "mdy_short": f"{md}/{dm}/{yy}",
        "dmy_buddhist": f"{dm}/{md}/{y + 543}", "dmy_buddhist_short": f"{dm}/{md}/{(y + 543) % 100:02}",
    }[style]  # fmt: skip


def places(style: str) -> int:
    """How many decimals a style prints."""
    return {"none": 0, "dot3": 3}.get(style.rpartition("_")[2], 2)

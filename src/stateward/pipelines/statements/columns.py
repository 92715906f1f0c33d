"""The roles of the columns of a table: by headings, checked by content; by content alone without headings."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise, permutations
from typing import Any, cast

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import ROLES, booking, headings
from stateward.pipelines.statements.layout import (
    NONE,
    Cells,
    ColumnLayout,
)
from stateward.pipelines.statements.rivals import is_sum_of

HEADING_WITHIN = 100  # rows: banks print up to a page of notes above the table
PROOF_ROWS = 200
MOST = 0.6
CLAIMED = 0.3  # a heading needs less proof than content alone
NET = ("net", "netto", "net amount")
MONEY = ("amount", "debit", "credit", "balance")


def find_layout(rows: Sequence[Cells]) -> ColumnLayout | None:
    """The layout of a table by its first rows; None if it has no dates beside amounts."""
    return _headed(rows) or _bare(rows)


def mapped_layout(rows: Sequence[Cells], text: str) -> ColumnLayout:
    """The layout that a person gives: `date=1,amount=4,description=2`, columns numbered from 1."""
    roles = {role: number - 1 for role, number in column_map(text).items()}
    least = max(roles.values()) + 1
    body_at = next(
        (
            at
            for at, cells in enumerate(rows)
            if len(cells) >= least and dates.is_date(cells[roles["date"]])
        ),
        None,
    )
    if body_at is None:
        raise FatalFailure(
            f"no row has a date in column {roles['date'] + 1} and {least} columns; correct the map",
            code="BAD_HINT",
        )
    width = max(least, len(rows[body_at]))
    above = rows[body_at - 1] if body_at else ()
    is_headed = len(above) == width
    names = tuple(above) if is_headed else tuple(f"column {i + 1}" for i in range(width))
    return ColumnLayout(
        width=width,
        body_at=body_at,
        headings=tuple(name.strip() for name in names),
        is_headed=True,
        decisions=(f"the columns are as a person says: {text}",),
        **cast("dict[str, Any]", roles),
    )


def column_map(text: str) -> dict[str, int]:
    """The columns of a map by their role, numbered from 1; refused if it is none."""
    roles: dict[str, int] = {}
    for part in text.split(","):
        role, _, number = part.partition("=")
        if role.strip() not in ROLES or not number.strip().isdecimal() or int(number) < 1:
            raise FatalFailure(
                f"the map {part.strip()!r} is none: write ROLE=NUMBER, with one of {', '.join(ROLES)}",
                code="BAD_HINT",
            )
        roles[role.strip()] = int(number)
    if "date" not in roles or not roles.keys() & {"amount", "debit", "credit"}:
        raise FatalFailure("a map needs a date, and an amount or a debit", code="BAD_HINT")
    return roles


def _headed(rows: Sequence[Cells]) -> ColumnLayout | None:
    best, at = 0, NONE
    for number, cells in enumerate(rows[:HEADING_WITHIN]):
        score = _heading_score(cells)
        if score > best:
            best, at = score, number
    if at < 0:
        return None
    names = tuple(cell.strip() for cell in rows[at])
    while (
        len(names) > 2
        and not names[-1]
        and not any(len(r) >= len(names) and r[len(names) - 1].strip() for r in rows[at + 1 :])
    ):
        names = names[:-1]
    width = _width(rows[at + 1 :], len(names), len(rows[at]))
    names = (*names, *(f"column {i + 1}" for i in range(len(names), width)))[:width]
    below = [row for row in rows[at + 1 : at + 1 + PROOF_ROWS] if len(row) == width]
    body = [row for row in below if any(map(dates.is_date, row))] or below
    roles, claimed = _proved_roles(names, body)
    if not roles:
        return None
    found = ", ".join(f"{names[i]!r} is {role}" for role, i in roles.items())
    return ColumnLayout(
        width=width,
        body_at=at + 1,
        headings=names,
        is_headed=True,
        decisions=(f"the headings are in row {at + 1} of the table: {found}",),
        **{**_text_columns(names, roles, claimed, body), **roles},
    )


def _heading_score(cells: Cells) -> int:
    """How many roles a row names; 0 if it is no heading."""
    texts = [cell.strip() for cell in cells if cell.strip()]
    if len(texts) < 2 or any(dates.is_date(text) or money.is_amount(text) for text in texts):
        return 0
    roles = {headings.role_of(text) for text in texts} - {""}
    has_date = bool(roles & {"date", "date_plain", "value_date"})
    has_money = bool(roles & {"amount", "debit", "credit", "balance", "mark"})
    return len(roles) if has_date and has_money else 0


def _width(body: Sequence[Cells], named: int, printed: int) -> int:
    """The width of the rows: that of the heading, with or without empty columns at its end."""
    counts = Counter(len(row) for row in body if any(cell.strip() for cell in row))
    usual = max(counts, key=lambda width: counts[width]) if counts else named
    wide = max(named, usual)  # some banks end rows with a delimiter, but not the heading
    return max((named, printed, wide), key=lambda width: (counts[width], width == named))


def _proved_roles(
    names: Sequence[str], body: Sequence[Cells]
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """The roles that headings name and content does not contradict, and all columns that claim each."""
    claimed: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        role = headings.role_of(name)
        column = [row[index] for row in body]
        role = _by_content(role, column) if role else _unnamed_role(column)
        if role:
            claimed.setdefault(role, []).append(index)
    named = (*ROLES, "status", "fee", "before", "category")
    roles = {role: indexes[0] for role, indexes in claimed.items() if role in named}
    if "date" in roles and claimed.get("date_plain"):
        roles["other_date"] = claimed["date_plain"][0]
    if "date" not in roles:
        spare = claimed.get("date_plain") or claimed.get("value_date")
        if not spare:
            return {}, claimed
        roles["date"] = spare[0]
        if roles.get("value_date") == spare[0]:
            del roles["value_date"]
    if "amount" not in roles and not {"debit", "credit"} & roles.keys():
        return {}, claimed
    return _resolve(names, roles, claimed, body), claimed


def _unnamed_role(column: Cells) -> str:
    """The role of a column under an unknown heading, where its content alone shows it."""
    filled = {cell.strip().casefold() for cell in column if cell.strip()}
    if filled and filled <= booking.KNOWN and filled & booking.NOT_BOOKED:
        return "status"
    if {money.mark_sign(text) for text in filled} == {1, -1}:
        return "mark"
    return "text" if filled and _share(list(filled), _is_words) >= MOST else ""


def _text_columns(
    names: Sequence[str],
    roles: dict[str, int],
    claimed: dict[str, list[int]],
    body: Sequence[Cells],
) -> dict[str, Any]:
    """Further columns of the description, what replaces it where it is empty, and payer and payee."""
    texts = [i for i in _descriptions(claimed, body) if i not in roles.values()]
    words = [*claimed.get("description_weak", []), *claimed.get("text", [])]
    kinds = [i for i in words if i not in (*roles.values(), *texts)]
    found: dict[str, Any] = {"texts": tuple(texts), "kinds": tuple(kinds)}
    parties = sorted(
        claimed.get("counterparty", []), key=lambda i: (headings.is_payer(names[i]), i)
    )
    if len(parties) > 1:
        named = Counter(row[i].strip() for row in body for i in parties if row[i].strip())
        found["parties"] = tuple(parties)
        found["holder"] = named.most_common(1)[0][0] if named else ""
    return found


def _descriptions(claimed: dict[str, list[int]], body: Sequence[Cells]) -> list[int]:
    """The columns of the description, best first: those that only name a kind of transaction come last."""
    strong = [i for i in claimed.get("description", []) if _filled(body, i)]
    weak = [i for i in claimed.get("description_weak", []) if _filled(body, i)]
    strong.sort(key=lambda i: _filled(body, i) < MOST)
    found = strong or sorted(weak, key=lambda i: -_letters(body, i))[:1]
    if not found and "counterparty" not in claimed:
        found = sorted(claimed.get("text", []), key=lambda i: -_letters(body, i))[:1]
    return found


def _letters(body: Sequence[Cells], index: int) -> int:
    """How much a column says: letters of its different texts."""
    return sum(c.isalpha() for text in {row[index] for row in body} for c in text)


def _resolve(
    names: Sequence[str],
    roles: dict[str, int],
    claimed: dict[str, list[int]],
    body: Sequence[Cells],
) -> dict[str, int]:
    """One source for the amount (two columns or one), and the best filled of several descriptions."""
    amounts = claimed.get("amount", [])
    if len(amounts) > 1:
        roles["amount"] = _own_amount(names, amounts, roles, body)
        if any(is_sum_of(body, total=roles["amount"], part=i) for i in amounts):
            roles.pop("fee", None)
    _choose_currency(roles, claimed)
    if "amount" in roles and headings.simplify(names[roles["amount"]]) in NET:
        roles.pop("fee", None)  # it is already taken off
    if "account" in roles and not _is_own_account([row[roles["account"]] for row in body]):
        del roles["account"]
    if "amount" in roles and {"debit", "credit"} <= roles.keys():
        if _filled(body, roles["amount"]) >= MOST:
            del roles["debit"], roles["credit"]
        else:
            del roles["amount"]
    elif "amount" in roles:
        for role in ("debit", "credit"):
            roles.pop(role, None)
    _find_other_side(roles, claimed, body)
    if "amount" not in roles:
        roles.pop("mark", None)
    roles.pop("description", None)
    if texts := _descriptions(claimed, body) or claimed.get("description"):
        roles["description"] = texts[0]
    if "description" not in roles and "counterparty" in roles:
        roles["description"] = roles["counterparty"]
    return roles


def _find_other_side(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> None:
    """Where only debits or only credits are named, the column that is filled where they are not is the other side."""
    sides = [role for role in ("debit", "credit") if role in roles]
    if len(sides) != 1 or "amount" in roles or not body:
        return
    own = [row[roles[sides[0]]] for row in body]
    taken = {*roles.values(), *(i for places in claimed.values() for i in places)}
    for index in range(len(body[0])):
        column = [row[index] for row in body]
        is_money = _share([c for c in column if c.strip()], money.is_amount) == 1
        if index not in taken and is_money and _is_either_or(own, column):
            roles["credit" if sides == ["debit"] else "debit"] = index
            return


def _choose_currency(roles: dict[str, int], claimed: dict[str, list[int]]) -> None:
    """Of several currencies, the one that stands beside the amounts."""
    places = claimed.get("currency", [])
    money_at = [roles[role] for role in ("amount", "debit", "credit") if role in roles]
    if len(places) > 1 and money_at:
        beside = [i for at in money_at for i in (at + 1, at - 1) if i in places]
        roles["currency"] = beside[0] if beside else places[0]


def _own_amount(
    names: Sequence[str], amounts: list[int], roles: dict[str, int], body: Sequence[Cells]
) -> int:
    """Of several amounts, the one that the balances follow from; else the one with all fees; else the fullest."""
    if "balance" in roles:
        after = [row[roles["balance"]] for row in body]
        for index in amounts:
            if _chains([row[index] for row in body], after):
                return index
    for total, part in permutations(amounts, 2):
        if is_sum_of(body, total=total, part=part):
            return total
    net = [i for i in amounts if headings.simplify(names[i]) in NET]
    if net:
        return net[0]
    return max(amounts, key=lambda i: (_filled(body, i) >= MOST, -amounts.index(i)))


def _is_own_account(column: Cells) -> bool:
    """Whether a column holds own accounts and not those of counterparties: always filled, with few values."""
    filled = [cell.strip() for cell in column if cell.strip()]
    few = max(2, len(column) // 5)
    return len(filled) >= len(column) * 0.9 and len(set(filled)) <= few


def _by_content(role: str, column: Cells) -> str:
    """The role of a column whose content may contradict its heading."""
    filled = [cell.strip() for cell in column if cell.strip()]
    if not filled:
        is_free = role in ("debit", "credit", "description", "balance", "value_date")
        return role if is_free or not column else "empty"
    are_dates = _share(filled, dates.is_date)
    are_amounts = _share(filled, money.is_amount)
    if role in ("date", "date_plain", "value_date"):
        if are_dates >= CLAIMED:
            return role
        return "amount" if are_amounts >= MOST and "." in "".join(filled) else "text"
    if role in ("category", "status", "other", "text"):
        return role
    if role in (*MONEY, "fee", "before"):
        # Six or eight digits may look like a date, but below such a heading they are an amount.
        are_dates = _share(filled, lambda text: not text.isdigit() and dates.is_date(text))
        if are_amounts >= CLAIMED and are_dates < MOST:
            return role
        if role in ("debit", "credit", "amount") and _are_marks(filled):
            return "mark"
        return "value_date" if are_dates >= MOST else "text"
    if role == "mark":
        if _are_marks(filled):
            return "mark"
        return "amount" if are_amounts >= MOST else "text"
    if role == "currency":
        return role if _share(filled, lambda t: len(t) == 3 and t.isalpha()) >= MOST else "text"
    return role


def _are_marks(column: Cells) -> bool:
    filled = [text for text in column if text.strip() not in money.NO_MARKS]
    return _share(filled, lambda text: money.mark_sign(text) != 0) >= 0.95


def _share(texts: Cells, test: Callable[[str], bool]) -> float:
    return sum(map(test, texts)) / len(texts) if texts else 0.0


def _filled(body: Sequence[Cells], index: int) -> float:
    return _share([row[index] for row in body], lambda text: bool(text.strip()))


def _bare(rows: Sequence[Cells]) -> ColumnLayout | None:
    data = [row for row in rows if _is_data(row)]
    if not data:
        return None
    ((width, _),) = Counter(len(row) for row in data).most_common(1)
    body = [row for row in data if len(row) == width][:PROOF_ROWS]
    first = next(i for i, row in enumerate(rows) if _is_data(row))
    above = rows[first - 1] if first else ()
    is_headed = len(above) == width and not any(money.is_amount(c) for c in above if c.strip())
    names = (
        tuple(c.strip() for c in above)
        if is_headed
        else tuple(f"column {i + 1}" for i in range(width))
    )
    roles = _roles_by_content(_columns_of(body))
    if roles is None:
        return None
    # Amounts without decimals or a sign look like plain numbers until it is known where amounts stand.
    body = [row for row in rows if len(row) == width and _is_row(row, roles)][:PROOF_ROWS]
    at = next(i for i, row in enumerate(rows) if len(row) == width and _is_row(row, roles))
    summary = _summary(body, roles)
    # A row of another width may stand first: it is reported where it is read.
    first = at + 1 if summary else min(first, at)
    body = body[1:] if summary else body
    roles = _roles_by_content(_columns_of(body)) or roles
    found = ", ".join(f"column {i + 1} is {role}" for role, i in roles.items())
    return ColumnLayout(
        width=width,
        body_at=first,
        headings=names,
        is_headed=False,
        decisions=(f"no known headings; by content, {found}",),
        summary=summary,
        **cast("dict[str, Any]", roles),
    )


def _columns_of(body: Sequence[Cells]) -> list[Cells]:
    return [[row[i] for row in body] for i in range(len(body[0]))]


def _is_row(cells: Cells, roles: Mapping[str, int]) -> bool:
    """Whether a row has a date and an amount where the others have theirs."""
    places = [roles[role] for role in ("amount", "debit", "credit") if role in roles]
    return dates.is_date(cells[roles["date"]]) and any(money.is_amount(cells[i]) for i in places)


def _summary(body: Sequence[Cells], roles: Mapping[str, int]) -> tuple[str, ...]:
    """The balances before and after all other rows, where the first row tells them.

    Their sum proves it, and that balances follow from one another without this row, but not with it: the newest row
    of an account that began with nothing adds up alike.
    """
    if "amount" not in roles or len(body) < 2:
        return ()
    texts = [row[roles["amount"]] for row in body]
    decimal = money.vote_decimal(texts).decimal
    values = [money.amount(text, decimal) for text in texts]
    rest = [value for value in values[1:] if value is not None]
    if values[0] is None or len(rest) < len(body) - 1 or not sum(rest):
        return ()
    closing = sum(rest, values[0])
    for place, cell in enumerate(body[0]):
        after = [row[place] for row in body]
        is_apart = len(body) == 2 and money.amount(after[1], decimal) == closing
        is_apart = is_apart or _chains(texts[1:], after[1:])
        if money.amount(cell, decimal) == closing and is_apart and not _chains(texts, after):
            return texts[0], cell
    return ()


def _is_data(cells: Cells) -> bool:
    texts = [cell for cell in cells if cell.strip()]
    return len(texts) >= 3 and any(map(dates.is_date, texts)) and any(map(_is_money, texts))


def _is_money(text: str) -> bool:
    """Whether a text is an amount, and not the plain number of an account, a cheque or a year."""
    return (
        money.is_amount(text)
        and not dates.is_date(text)
        and (any(c in text for c in ".,") or not text.strip().isdigit())
    )


def _roles_by_content(columns: Sequence[Cells]) -> dict[str, int] | None:
    filled = [[c.strip() for c in column if c.strip()] for column in columns]
    days = [i for i, f in enumerate(filled) if f and _share(f, dates.is_date) >= MOST]
    # Six digits alone are a date only where no other column has one: branches and accounts are numbered so, too.
    days = [i for i in days if _share(filled[i], _is_six_digits) < MOST] or days
    if not days:
        return None
    sums = _money_columns(columns, filled, days)
    if not sums:
        return None
    roles = {"date": days[0], **_money_roles(columns, sums)}
    if len(days) > 1:
        roles["value_date"] = days[1]
    taken = {*days, *sums}
    rest = [i for i in range(len(columns)) if i not in taken and filled[i]]
    for i in rest:
        if "mark" not in roles and _are_marks(filled[i]) and "amount" in roles:
            roles["mark"] = i
        elif (
            "currency" not in roles and _share(filled[i], lambda t: t in money.CURRENCY_CODES) == 1
        ):
            roles["currency"] = i
    texts = [i for i in rest if i not in roles.values() and _share(filled[i], _is_words) >= MOST]
    if texts:
        roles["description"] = max(
            texts, key=lambda i: sum(c.isalpha() for t in set(filled[i]) for c in t)
        )
    return roles


def _is_six_digits(text: str) -> bool:
    return len(text) == 6 and text.isdigit()


def _is_words(text: str) -> bool:
    return sum(c.isalpha() for c in text) >= 2


def _money_columns(
    columns: Sequence[Cells], filled: Sequence[Cells], days: Sequence[int]
) -> list[int]:
    """The columns of amounts; those without decimals only where no column has any."""
    found = [
        i for i, f in enumerate(filled) if f and i not in days and _share(f, money.is_amount) >= 0.9
    ]
    with_decimals = [i for i in found if any(c in text for text in filled[i] for c in ".,")]
    zero_or_money = [
        i for i in found if i in with_decimals or set(filled[i]) <= {"0", "0.00", "0,00"}
    ]
    return zero_or_money if with_decimals else found


def _money_roles(columns: Sequence[Cells], sums: Sequence[int]) -> dict[str, int]:
    """The roles of money columns: two of which one is filled are debit and credit, one that adds up is the balance."""
    if len(sums) == 1:
        return {"amount": sums[0]}
    for left, right in pairwise(sums):
        if _is_either_or(columns[left], columns[right]):
            rest = [i for i in sums if i not in (left, right)]
            found = {"debit": left, "credit": right}
            if rest:
                found["balance"] = rest[-1]
            return found
    full = [i for i in sums if _share(columns[i], lambda text: bool(text.strip())) == 1]
    if rows := _in_row_roles(columns, full):
        return rows
    for amount in full:
        for balance in full:
            if amount != balance and _chains(columns[amount], columns[balance]):
                return {"amount": amount, "balance": balance}
    signed = [i for i in full if any(_is_signed(text) for text in columns[i])]
    return {"amount": signed[0] if signed else full[0] if full else sums[-1]}


def _in_row_roles(columns: Sequence[Cells], full: Sequence[int]) -> dict[str, int] | None:
    """The balance before, the balance after and the amount of each row, where every row adds up by itself."""
    if len(full) < 3:
        return None
    decimal = money.vote_decimal([text for i in full for text in columns[i]]).decimal
    values = {i: [money.amount(text, decimal) for text in columns[i]] for i in full}
    for before, after, amount in permutations(full, 3):
        rows = list(zip(values[before], values[after], values[amount], strict=True))
        if any(None in row for row in rows) or not any(row[2] for row in rows):
            continue
        if before < after and all(b + a == c for b, c, a in rows):  # type: ignore[operator]
            return {"amount": amount, "balance": after, "before": before}
    return None


def _is_either_or(left: Cells, right: Cells) -> bool:
    """Whether each row fills exactly one of two columns: the other is empty or zero."""
    zeros = {"", "0", "0.00", "0,00", "0.0", "-", "-0.00"}
    pairs = [(a.strip() in zeros, b.strip() in zeros) for a, b in zip(left, right, strict=True)]
    return all(a != b for a, b in pairs) and (any(a for a, _ in pairs) and any(b for _, b in pairs))


def _is_signed(text: str) -> bool:
    read = money.read_amount(text) or money.read_amount(text, ",")
    return read is not None and read.value < 0


def _chains(amounts: Cells, balances: Cells) -> bool:
    """Whether the balances follow from the amounts, in either direction and by either sign."""
    decimal = money.vote_decimal([*amounts, *balances]).decimal
    a = [money.amount(text, decimal) for text in amounts]
    b = [money.amount(text, decimal) for text in balances]
    if len(a) < 2 or None in a or None in b:
        return False
    steps: list[tuple[Decimal, Decimal, Decimal]] = [
        (b[i + 1] - b[i], a[i + 1], a[i])  # type: ignore[operator, misc]
        for i in range(len(a) - 1)
    ]
    down = all(abs(step) == abs(after) for step, after, _ in steps)
    up = all(abs(step) == abs(before) for step, _, before in steps)
    return down or up

"""The roles of the columns of a table without known headings: by what stands in them alone.

Balances that follow from amounts prove which columns are which. What nothing proves is taken by its place and its
looks, and `rivals` and `signs` say so.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, pairwise, permutations
from typing import Any, cast

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import booking, headings
from stateward.pipelines.statements.layout import Cells, ColumnLayout

PROOF_ROWS = 200
MOST = 0.6
ZERO = Decimal(0)
CHAINED_ROWS_MIN = 3  # before balances prove plain numbers to be amounts
ZEROS = frozenset({"", "0", "0.00", "0,00", "0.0", "-", "-0.00"})


def are_marks(column: Cells) -> bool:
    filled = [text for text in column if text.strip() not in money.NO_MARKS]
    return share_of(filled, lambda text: money.mark_sign(text) != 0) >= 0.95


def share_of(texts: Cells, test: Callable[[str], bool]) -> float:
    return sum(map(test, texts)) / len(texts) if texts else 0.0


def filled_share(body: Sequence[Cells], index: int) -> float:
    return share_of([row[index] for row in body], lambda text: bool(text.strip()))


def bare_layout(rows: Sequence[Cells]) -> ColumnLayout | None:
    """The layout of a table by its content; None if it has no dates beside amounts."""
    return _layout_by(rows, _is_data) or _layout_by(rows, _is_plain_data, is_proof_needed=True)


def _layout_by(
    rows: Sequence[Cells], is_data: Callable[[Cells], bool], *, is_proof_needed: bool = False
) -> ColumnLayout | None:
    """The layout by the rows that are data; `is_proof_needed` where only balances show what is an amount."""
    data = [row for row in rows if is_data(row)]
    if not data:
        return None
    ((width, _),) = Counter(len(row) for row in data).most_common(1)
    body = [row for row in data if len(row) == width][:PROOF_ROWS]
    first = next(i for i, row in enumerate(rows) if is_data(row))
    above = rows[first - 1] if first else ()
    is_headed = len(above) == width and not any(money.is_amount(c) for c in above if c.strip())
    names = (
        tuple(c.strip() for c in above)
        if is_headed
        else tuple(f"column {i + 1}" for i in range(width))
    )
    roles = _roles_by_content(_columns_of(body))
    if roles is None or (is_proof_needed and "balance" not in roles):
        return None
    # Amounts without decimals or a sign look like plain numbers until it is known where amounts stand.
    body = [row for row in rows if len(row) == width and _is_row(row, roles)][:PROOF_ROWS]
    at = next(i for i, row in enumerate(rows) if len(row) == width and _is_row(row, roles))
    summary = _summary(body, roles)
    # A row of another width may stand first: it is reported where it is read.
    first = at + 1 if summary else min(first, at)
    body = body[1:] if summary else body
    roles = _dates_by_name(_roles_by_content(_columns_of(body)) or roles, names)
    others = [i for i, column in enumerate(_columns_of(body)) if i not in roles.values()]
    kinds = [
        i for i in others if share_of([row[i] for row in body if row[i].strip()], is_words) >= MOST
    ]
    found = ", ".join(f"column {i + 1} is {role}" for role, i in roles.items())
    return ColumnLayout(
        width=width,
        body_at=first,
        headings=names,
        is_headed=False,
        decisions=(f"no known headings; by content, {found}",),
        summary=summary,
        kinds=tuple(kinds),  # what tells of a row where its description is empty
        **cast("dict[str, Any]", roles),
    )


def _dates_by_name(roles: dict[str, int], names: Sequence[str]) -> dict[str, int]:
    """The roles with two dates in the order of their names: the other names are unknown, but these may be known."""
    if "value_date" not in roles:
        return roles
    first, second = (headings.role_of(names[roles[role]]) for role in ("date", "value_date"))
    if (first == "value_date" and second != first) or (second == "date" and first != second):
        roles["date"], roles["value_date"] = roles["value_date"], roles["date"]
    return roles


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
        is_apart = is_apart or do_balances_follow(texts[1:], after[1:])
        if (
            money.amount(cell, decimal) == closing
            and is_apart
            and not do_balances_follow(texts, after)
        ):
            return texts[0], cell
    return ()


def _is_data(cells: Cells) -> bool:
    texts = [cell for cell in cells if cell.strip()]
    return len(texts) >= 3 and any(map(dates.is_date, texts)) and any(map(_is_money, texts))


def _is_plain_data(cells: Cells) -> bool:
    """Whether a row has a date and two plain numbers, as of a currency without decimals."""
    texts = [cell for cell in cells if cell.strip()]
    numbers = [text for text in texts if money.is_amount(text) and not dates.is_date(text)]
    return len(numbers) > 1 and any(map(dates.is_date, texts))


def _is_money(text: str) -> bool:
    """Whether a text is an amount, and not the plain number of an account, a cheque or a year."""
    return (
        money.is_amount(text)
        and not dates.is_date(text)
        and (any(c in text for c in ".,") or not text.strip().isdigit())
    )


def _roles_by_content(columns: Sequence[Cells]) -> dict[str, int] | None:
    filled = [[c.strip() for c in column if c.strip()] for column in columns]
    days = [i for i, f in enumerate(filled) if f and share_of(f, dates.is_date) >= MOST]
    # Six digits alone are a date only where no other column has one: branches and accounts are numbered so, too.
    days = [i for i in days if share_of(filled[i], _is_six_digits) < MOST] or days
    if not days:
        return None
    sums = _money_columns(columns, filled, days)
    if not sums:
        return None
    roles = {"date": days[0], **_money_roles(columns, sums, columns[days[0]])}
    if len(days) > 1:
        roles["value_date"] = days[1]
    taken = {*days, *sums}
    rest = [i for i in range(len(columns)) if i not in taken and filled[i]]
    for i in rest:
        words = {text.casefold() for text in filled[i]}
        if words <= booking.KNOWN and words & booking.NOT_BOOKED:
            roles.setdefault("status", i)
        elif "mark" not in roles and are_marks(filled[i]) and "amount" in roles:
            roles["mark"] = i
        elif (
            "currency" not in roles
            and share_of(filled[i], lambda t: t in money.CURRENCY_CODES) == 1
        ):
            roles["currency"] = i
    texts = [i for i in rest if i not in roles.values() and share_of(filled[i], is_words) >= MOST]
    if texts:
        roles["description"] = max(
            texts, key=lambda i: sum(c.isalpha() for t in set(filled[i]) for c in t)
        )
    return roles


def _is_six_digits(text: str) -> bool:
    return len(text) == 6 and text.isdigit()


def is_words(text: str) -> bool:
    return sum(c.isalpha() for c in text) >= 2


def _money_columns(
    columns: Sequence[Cells], filled: Sequence[Cells], days: Sequence[int]
) -> list[int]:
    """The columns of amounts; those without decimals only where no column has any."""
    found = [
        i
        for i, f in enumerate(filled)
        if f and i not in days and share_of(f, money.is_amount) >= 0.9
    ]
    with_decimals = [i for i in found if any(c in text for text in filled[i] for c in ".,")]
    zero_or_money = [
        i for i in found if i in with_decimals or set(filled[i]) <= {"0", "0.00", "0,00"}
    ]
    return zero_or_money if with_decimals else found


def _money_roles(columns: Sequence[Cells], sums: Sequence[int], days: Cells) -> dict[str, int]:
    """The roles of money columns: two of which one is filled are debit and credit, one that adds up is the balance."""
    if len(sums) == 1:
        return {"amount": sums[0]}
    if proven := _proven_roles(columns, sums):
        return proven
    for left, right in pairwise(sums):
        if is_either_or(columns[left], columns[right]):
            rest = [i for i in sums if i not in (left, right)]
            found = _sides(columns, left, right)
            if rest:
                found["balance"] = rest[-1]
            return found
    full = [i for i in sums if share_of(columns[i], lambda text: bool(text.strip())) == 1]
    if rows := _in_row_roles(columns, full) or _before_roles(columns, full, days):
        return rows
    for amount in full:
        for balance in full:
            if amount != balance and do_balances_follow(columns[amount], columns[balance]):
                return {"amount": amount, "balance": balance}
    signed = [i for i in full if any(_is_signed(text) for text in columns[i])]
    return {"amount": signed[0] if signed else full[0] if full else sums[-1]}


def _proven_roles(columns: Sequence[Cells], sums: Sequence[int]) -> dict[str, int] | None:
    """The roles that balances prove: every one follows from the one before it and the signed amount beside it."""
    decimal = money.vote_decimal([text for i in sums for text in columns[i]]).decimal
    values = {i: [_value(text, decimal) for text in columns[i]] for i in sums}
    if len(columns[sums[0]]) < CHAINED_ROWS_MIN:
        return None
    full = [i for i in sums if not any(text.strip() == "" for text in columns[i])]
    for amount, balance in permutations(full, 2):
        if _follow(values[amount], values[balance]):
            return {"amount": amount, "balance": balance}
    for left, right in combinations(sums, 2):
        if not is_either_or(columns[left], columns[right]):
            continue
        sides = _sides(columns, left, right)
        out, into = values[sides["debit"]], values[sides["credit"]]
        moved = [abs(b or ZERO) - abs(a or ZERO) for a, b in zip(out, into, strict=True)]
        for balance in full:
            if balance in (left, right):
                continue
            if _follow(moved, values[balance]):
                return {**sides, "balance": balance}
            if _follow([-value for value in moved], values[balance]):
                return {"debit": sides["credit"], "credit": sides["debit"], "balance": balance}
    return None


def _value(text: str, decimal: str) -> Decimal | None:
    return ZERO if text.strip() in ZEROS else money.amount(text, decimal)


def _sides(columns: Sequence[Cells], left: int, right: int) -> dict[str, int]:
    """Debits and credits of two columns: the one with minus signs is debits, else the first."""
    has_minus = [any(_is_signed(text) for text in columns[i]) for i in (left, right)]
    if has_minus == [False, True]:
        return {"debit": right, "credit": left}
    return {"debit": left, "credit": right}


def _follow(amounts: Sequence[Decimal | None], balances: Sequence[Decimal | None]) -> bool:
    """Whether each balance is the one before it and a signed amount, downward or upward, with no exception."""
    if None in amounts or None in balances or not any(amounts) or len(set(balances)) == 1:
        return False
    a, b = cast("Sequence[Decimal]", amounts), cast("Sequence[Decimal]", balances)
    places = range(len(a) - 1)
    return all(b[i + 1] - b[i] == a[i + 1] for i in places) or all(
        b[i] - b[i + 1] == a[i] for i in places
    )


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
        if before > after or any(b + a != c for b, c, a in rows):  # type: ignore[operator]
            continue
        # An amount, its fee and both together add up alike, but one row does not go on where another ended.
        ends = pairwise(rows)
        if all(one[1] == two[0] or one[0] == two[1] for one, two in ends):
            return {"amount": amount, "balance": after, "before": before}
    return None


def _before_roles(
    columns: Sequence[Cells], full: Sequence[int], days: Cells
) -> dict[str, int] | None:
    """The amount and the balance before it, where each row begins with what the row before it, in time, ended with."""
    order = dates.vote_order(days).order or "dmy"
    known = [day for text in days if (day := dates.read_date(text, order))]
    is_rising, is_falling = known == sorted(known), known == sorted(known, reverse=True)
    if len(known) < CHAINED_ROWS_MIN or is_rising == is_falling:
        return None
    decimal = money.vote_decimal([text for i in full for text in columns[i]]).decimal
    values = {i: [money.amount(text, decimal) for text in columns[i]] for i in full}
    for amount, before in permutations(full, 2):
        moved, stood = values[amount], values[before]
        if not any(map(_is_signed, columns[amount])) or len({*stood}) == 1:
            continue
        if is_falling:
            moved, stood = moved[::-1], stood[::-1]
        if None not in (*moved, *stood) and all(
            one + by == two  # type: ignore[operator]
            for (one, two), by in zip(pairwise(stood), moved, strict=False)
        ):
            return {"amount": amount, "before": before}
    return None


def is_either_or(left: Cells, right: Cells) -> bool:
    """Whether each row fills exactly one of two columns: the other is empty or zero."""
    pairs = [(a.strip() in ZEROS, b.strip() in ZEROS) for a, b in zip(left, right, strict=True)]
    return all(a != b for a, b in pairs) and (any(a for a, _ in pairs) and any(b for _, b in pairs))


def _is_signed(text: str) -> bool:
    read = money.read_amount(text) or money.read_amount(text, ",")
    return read is not None and read.value < 0


def follow_signs(amounts: Cells, balances: Cells) -> bool:
    """Whether the balances follow from the amounts, by their printed signs if they have any."""
    if not any(map(_is_signed, amounts)):
        return do_balances_follow(amounts, balances)
    decimal = money.vote_decimal([*amounts, *balances]).decimal
    return _follow(
        [money.amount(text, decimal) for text in amounts],
        [money.amount(text, decimal) for text in balances],
    )


def do_balances_follow(amounts: Cells, balances: Cells) -> bool:
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

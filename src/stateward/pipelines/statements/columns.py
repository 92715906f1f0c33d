"""The roles of the columns of a table: by headings, checked by content; by content alone without headings."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations
from typing import Any, cast

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import ROLES, booking, headings
from stateward.pipelines.statements.content_columns import (
    MOST,
    PROOF_ROWS,
    are_marks,
    bare_layout,
    do_balances_follow,
    filled_share,
    follow_signs,
    is_either_or,
    is_words,
    share_of,
)
from stateward.pipelines.statements.heading_parts import day_role, is_of_transaction
from stateward.pipelines.statements.layout import (
    NONE,
    Cells,
    ColumnLayout,
)
from stateward.pipelines.statements.own_amounts import (
    amount_by_currency,
    amount_by_sums,
    is_sum_of,
)
from stateward.pipelines.statements.table_cells import TableHead, is_sum

CLAIMED = 0.3  # a heading needs less proof than content alone
NET = ("net", "netto", "net amount")
FOLLOWING_ROWS_MIN = 3  # before a column of amounts is taken for balances that follow from another
BLOCK_ROWS_MIN = 3  # rows of an account, on average, before one block each makes it an own one
NAMES_MIN = 4  # rows: fewer show no column of names
NAMES_DISTINCT_MIN = 0.6
# What only says together whether a row went through: NOK alone is a currency, KO a word of names.
OUTCOMES = (
    {"ok", "nok"},
    {"ok", "ko"},
    {"ok", "nok", ""},
    {"ok", "not ok"},
    {"ok", "nio"},
    {"io", "nio"},
)
MONEY = ("amount", "debit", "credit", "balance")


def find_layout(head: TableHead) -> ColumnLayout | None:
    """The layout of a table by its first rows; None if it has no dates beside amounts."""
    if found := _layout_by_headings(head):
        return found
    layout = bare_layout(head.rows)
    if layout is not None and _lists_balances(layout):
        raise FatalFailure(
            f"the table lists balances of days below {layout.headings[layout.amount]!r}, and no transactions; "
            "export the transactions of the account",
            code="NO_ROWS",
        )
    return layout


def _lists_balances(layout: ColumnLayout) -> bool:
    """Whether the only amounts of a table are called balances, and no text stands beside them."""
    if layout.amount < 0 or layout.description >= 0:
        return False
    roles = {
        headings.role_of(layout.headings[i]) for i in (layout.amount, layout.balance) if i >= 0
    }
    return roles <= {"balance", "before"}


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
            f"no row of at least {least} columns has a date in column {roles['date'] + 1}; correct the map",
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


def _layout_by_headings(head: TableHead) -> ColumnLayout | None:
    best, at, rows = 0, NONE, head.rows
    for number, cells in head.headings():
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
    below = _whole_rows(rows[at + 1 : at + 1 + PROOF_ROWS], width)
    body = [row for row in below if any(map(dates.is_date, row))] or below
    sums = [row for row in rows[at + 1 :] if len(row) == width and not any(map(dates.is_date, row))]
    roles, claimed = _proved_roles(names, body, sums)
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


def _whole_rows(rows: Sequence[Cells], width: int) -> list[Cells]:
    """The rows of the full width; where none is, those that all lack the same last cells, with these empty."""
    whole = [row for row in rows if len(row) == width]
    short = {len(row) for row in rows if any(map(dates.is_date, row))}
    if whole or len(short) != 1 or max(short) > width:
        return whole
    (least,) = short
    return [[*row, *[""] * (width - least)] for row in rows if len(row) == least]


def _heading_score(cells: Cells) -> int:
    """How many roles a row names; 0 if it is no heading."""
    texts = [cell.strip() for cell in cells if cell.strip()]
    if texts and len(texts[0]) <= 2 and texts[0].isdigit():
        texts = texts[1:]  # the number of a kind of line, which all lines begin with
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
    names: Sequence[str], body: Sequence[Cells], sums: Sequence[Cells]
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """The roles that headings name and content does not contradict, and all columns that claim each."""
    claimed: dict[str, list[int]] = {}
    for index, name in enumerate(_spread_names(names, body)):
        role = headings.role_of(name)
        column = [row[index] for row in body]
        role = _by_content(role, column, name) if role else _unnamed_role(column)
        if role:
            claimed.setdefault(role, []).append(index)
    # What was bought on a day is booked on another, where a second date stands beside it.
    for days in (claimed.get("date", []), claimed.get("date_plain", [])):
        days.sort(key=lambda i: is_of_transaction(headings.simplify(names[i])))
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
        if len(claimed.get("date_plain", ())) > 1:
            roles["other_date"] = spare[1]
    if "amount" not in roles and not {"debit", "credit"} & roles.keys():
        return {}, claimed
    return _resolve(names, roles, claimed, body, sums), claimed


_CODE = re.compile(r"[A-Z]{3}")


def _spread_names(names: Sequence[str], body: Sequence[Cells]) -> list[str]:
    """The names of columns, where one may stand over several: a currency and its amount, parts of a description."""
    found = list(names)
    for index in range(len(found) - 1):
        codes = {row[index].strip() for row in body} - {""}
        is_money = headings.role_of(found[index]) in ("amount", "balance", "debit", "credit")
        if is_money and not found[index + 1] and codes and all(map(_CODE.fullmatch, codes)):
            found[index], found[index + 1] = "currency", found[index]
        if not found[index + 1] and headings.role_of(found[index]) == "description":
            texts = [row[index + 1] for row in body if row[index + 1].strip()]
            if texts and share_of(texts, is_words) >= MOST:
                found[index + 1] = found[index]  # the description goes on in it
    return found


def _unnamed_role(column: Cells) -> str:
    """The role of a column under an unknown heading, where its content alone shows it."""
    filled = {cell.strip().casefold() for cell in column if cell.strip()}
    if is_status(filled):
        return "status"
    if {money.mark_sign(text) for text in filled} == {1, -1}:
        return "mark"
    return "text" if filled and share_of(list(filled), is_words) >= MOST else ""


def is_status(filled: Iterable[str]) -> bool:
    """Whether all texts of a column say whether something is booked, and one says that it is not."""
    words = {text.casefold() for text in filled}
    if words in OUTCOMES:
        return True
    return words <= booking.KNOWN and bool(words & booking.NOT_BOOKED)


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
    strong, weak = (
        [i for i in claimed.get(name, []) if filled_share(body, i) and not _is_of_labels(body, i)]
        for name in ("description", "description_weak")
    )
    strong.sort(key=lambda i: filled_share(body, i) < MOST)
    found = strong or sorted(weak, key=lambda i: -_letters(body, i))[:1]
    # Of payer and payee, one is the holder of the account: they tell less than a text without a known name.
    if not found and len(claimed.get("counterparty", [])) != 1:
        found = sorted(claimed.get("text", []), key=lambda i: -_letters(body, i))[:1]
    return found


def _is_of_labels(body: Sequence[Cells], index: int) -> bool:
    """Whether a column has nothing but the same label in all cells, with no value behind it: `Message:`."""
    texts = {row[index].strip() for row in body} - {""}
    return len(texts) == 1 and next(iter(texts)).endswith((":", "="))


def _letters(body: Sequence[Cells], index: int) -> int:
    """How much a column says: letters of its different texts."""
    return sum(c.isalpha() for text in {row[index] for row in body} for c in text)


def _resolve(
    names: Sequence[str],
    roles: dict[str, int],
    claimed: dict[str, list[int]],
    body: Sequence[Cells],
    sums: Sequence[Cells],
) -> dict[str, int]:
    """One source for the amount (two columns or one), and the best filled of several descriptions."""
    _take_marked_side(roles, claimed, body)
    _choose_amount(names, roles, claimed, body, sums)
    _choose_sides(names, roles, claimed, body)
    _choose_party(roles, claimed, body)
    _choose_currency(roles, claimed)
    if "amount" in roles and headings.simplify(names[roles["amount"]]) in NET:
        roles.pop("fee", None)  # it is already taken off
    _choose_account(roles, claimed, body)
    if "amount" in roles and {"debit", "credit"} <= roles.keys():
        if filled_share(body, roles["amount"]) >= MOST:
            del roles["debit"], roles["credit"]
        else:
            del roles["amount"]
    elif "amount" in roles:
        for role in ("debit", "credit"):
            roles.pop(role, None)
    _find_other_side(roles, claimed, body)
    _find_balance(roles, claimed, body)
    if "amount" not in roles:
        roles.pop("mark", None)
    _find_party(roles, claimed, body)
    roles.pop("description", None)
    if texts := _descriptions(claimed, body) or claimed.get("description"):
        roles["description"] = texts[0]
    if "description" not in roles and "counterparty" in roles:
        roles["description"] = roles["counterparty"]
    return roles


def _take_marked_side(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> None:
    """Take a lone column of debits or credits for amounts, where marks beside them say that it has both."""
    sides = [role for role in ("debit", "credit") if role in roles]
    if len(sides) != 1 or "amount" in roles:
        return
    cells = [row[roles[sides[0]]] for row in body]
    read = (money.read_amount(cell, decimal) for cell in cells for decimal in ".,")
    if {money.mark_sign(each.mark) for each in read if each and each.mark} >= {1, -1}:
        roles["amount"] = roles.pop(sides[0])
        claimed["amount"] = claimed.pop(sides[0])


def _choose_amount(
    names: Sequence[str],
    roles: dict[str, int],
    claimed: dict[str, list[int]],
    body: Sequence[Cells],
    sums: Sequence[Cells],
) -> None:
    """Of several amounts, the one of the account; a sum below it shows that it is of one currency."""
    amounts = claimed.get("amount", [])
    if len(amounts) > 1 and "balance" not in roles:
        amounts = _without_balance(roles, claimed, body)
    if len(amounts) < 2:
        return
    told = amount_by_sums(amounts, body, sums)
    roles["amount"] = told if told >= 0 else _own_amount(names, amounts, roles, body)
    if any(is_sum_of(body, total=roles["amount"], part=i) for i in amounts):
        roles.pop("fee", None)
    places = claimed.get("currency", [])
    if told >= 0 and any(len({row[i].strip() for row in body} - {""}) > 1 for i in places):
        claimed["currency"] = []
        roles.pop("currency", None)


def _without_balance(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> list[int]:
    """The columns of amounts but the one that runs on by another: by its content it is the balance."""
    amounts = claimed["amount"]
    columns = {i: [row[i] for row in body] for i in amounts}
    for own, after in permutations(amounts, 2):
        if len(body) < FOLLOWING_ROWS_MIN or not do_balances_follow(columns[own], columns[after]):
            continue
        if not do_balances_follow(columns[after], columns[own]):
            roles["amount"], roles["balance"] = own, after
            claimed["amount"] = [i for i in amounts if i != after]
            claimed["balance"] = [after]
            break
    return claimed["amount"]


def _choose_sides(
    names: Sequence[str],
    roles: dict[str, int],
    claimed: dict[str, list[int]],
    body: Sequence[Cells],
) -> None:
    """Of several pairs of debits and credits, the one that most rows fill; of equally full ones, that after fees."""
    pairs = list(zip(claimed.get("debit", []), claimed.get("credit", []), strict=False))
    if len(pairs) < 2:
        return
    best = max(pairs, key=lambda pair: (_filled_rows(body, pair), _is_net(names[pair[0]])))
    roles["debit"], roles["credit"] = best
    if _is_net(names[best[0]]):
        roles.pop("fee", None)


def _filled_rows(body: Sequence[Cells], places: Sequence[int]) -> int:
    return sum(any(money.is_amount(row[i]) for i in places) for row in body)


def _is_net(name: str) -> bool:
    return not {*headings.simplify(name).split()}.isdisjoint(NET)


def _choose_party(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> None:
    """Of columns about the other side, those with its name: its account, or the code of its bank, says less."""
    parties = claimed.get("counterparty", [])
    named = [i for i in parties if any(c.strip() for c in (row[i] for row in body))]
    named = [i for i in named if not _is_of_numbers([row[i] for row in body])]
    if named and len(named) < len(parties):
        claimed["counterparty"] = named
        roles["counterparty"] = named[0]


def _find_party(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> None:
    """Names below a heading that is not known, beside one that mostly names the holder: the other side of it.

    What shows it is that the holder stands there where the known column names another.
    """
    known = claimed.get("counterparty", [])
    if len(body) < NAMES_MIN or len(known) != 1:
        return
    beside = [row[known[0]].strip() for row in body]
    (holder, count), *_ = Counter(beside).most_common(1)
    if not holder.strip(" -") or 2 * count < len(body):
        return
    for i in claimed.get("text", []):
        names = [row[i].strip() for row in body]
        is_other_side = any(
            name == holder != other for name, other in zip(names, beside, strict=True)
        )
        others = [text for name in names if (text := name.strip(" -")) != holder]
        if i not in roles.values() and is_other_side and _is_of_names(others):
            claimed["counterparty"] = [*known, i]
            claimed["text"] = [each for each in claimed["text"] if each != i]
            roles["counterparty"] = i
            return


def _is_of_names(column: Cells) -> bool:
    """Whether a column holds names: several words in most cells, and hardly one of them twice."""
    filled = [text for text in column if text]
    are_long = share_of(filled, lambda text: len(text.split()) > 1) >= 0.5
    are_many = len(set(filled)) >= NAMES_DISTINCT_MIN * len(filled)
    return len(filled) >= max(NAMES_MIN, len(column) / 3) and are_long and are_many


def _is_of_numbers(column: Cells) -> bool:
    """Whether most texts of a column have more figures than letters, as numbers of accounts do."""
    filled = [cell for cell in column if cell.strip()]
    return (
        share_of(filled, lambda text: sum(map(str.isdigit, text)) > sum(map(str.isalpha, text)))
        >= MOST
    )


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
        is_money = share_of([c for c in column if c.strip()], money.is_amount) == 1
        if index not in taken and is_money and is_either_or(own, column):
            roles["credit" if sides == ["debit"] else "debit"] = index
            return


def _find_balance(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> None:
    """Where no heading names balances, the column that runs on by the amounts has them."""
    if "balance" in roles or len(body) < FOLLOWING_ROWS_MIN:
        return
    places = [roles[role] for role in ("amount", "debit", "credit") if role in roles]
    taken = {*roles.values(), *(i for indexes in claimed.values() for i in indexes)}
    columns = {i: [row[i] for row in body] for i in range(len(body[0])) if i not in taken}
    free = {i: column for i, column in columns.items() if all(map(money.is_amount, column))}
    own = [next((row[i] for i in places if is_sum(row[i])), "") for row in body if free]
    for index, column in free.items():
        # Points, too, run on by amounts: against their signs, as no deposit does.
        if follow_signs(own, column) and not do_balances_follow(column, own):
            roles["balance"] = index
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
            if do_balances_follow([row[index] for row in body], after):
                return index
    for total, part in permutations(amounts, 2):
        if is_sum_of(body, total=total, part=part):
            return total
    if (own := amount_by_currency(amounts, body)) >= 0:
        return own
    said = [i for i in amounts if headings.is_in_account_currency(names[i])]
    if len(said) == 1:
        return said[0]
    net = [i for i in amounts if headings.simplify(names[i]) in NET]
    if net:
        return net[0]
    return max(amounts, key=lambda i: (filled_share(body, i) >= MOST, -amounts.index(i)))


def _choose_account(
    roles: dict[str, int], claimed: dict[str, list[int]], body: Sequence[Cells]
) -> None:
    """Of several columns of own accounts, the one that tells most of them apart: by a number rather than by a name."""
    columns = {i: [row[i].strip() for row in body] for i in claimed.get("account", ())}
    own = [i for i, column in columns.items() if _is_own_account(column)]
    # A name and a number that stand for each other tell of one account, which a few rows may be of.
    for one, other in () if own else permutations(columns, 2):
        kinds = len(set(columns[one]))
        pairs = set(zip(columns[one], columns[other], strict=True))
        if kinds == len(set(columns[other])) == len(pairs) <= len(body) // 3 and all(columns[one]):
            own = [one, other]
    roles.pop("account", None)
    # Where one number stands on every row, what changes beside it are the numbers of other sides.
    numbered = [i for i in own if _is_of_numbers(columns[i])]
    lone = [i for i in numbered if len(set(columns[i])) == 1]
    if own:
        roles["account"] = max(
            lone[:1] or own,
            key=lambda i: (
                len(set(columns[i])),
                sum(any(map(str.isdigit, text)) for text in columns[i]),
                -i,
            ),
        )


def _is_own_account(column: Cells) -> bool:
    """Whether a column holds own accounts and not those of counterparties: always filled, with few values."""
    filled = [cell.strip() for cell in column if cell.strip()]
    kinds = len(set(filled))
    # Few rows may show a few accounts, if none of them has only one row.
    is_repeated = kinds > 0 and min(Counter(filled).values()) > 1
    few = max(2, len(column) // (3 if is_repeated else 5))
    # An export of several accounts has the rows of each in one block.
    blocks = 1 + sum(one != other for one, other in pairwise(filled))
    is_few = kinds <= few or (kinds == blocks and BLOCK_ROWS_MIN * kinds <= len(filled))
    return len(filled) >= len(column) * 0.9 and is_few


def _by_content(role: str, column: Cells, name: str) -> str:
    """The role of a column whose content may contradict its heading; a dash is an empty cell."""
    filled = [cell.strip() for cell in column if cell.strip() not in ("", "-", "–", "—")]
    if not filled:
        is_free = role in ("debit", "credit", "description", "balance", "value_date")
        return role if is_free or not column else "empty"
    if is_status(filled):
        return "status"
    are_dates = share_of(filled, dates.is_date)
    are_amounts = share_of(filled, money.is_amount)
    if role in ("date", "date_plain", "value_date"):
        return role if are_dates >= CLAIMED else _instead_of_days(filled, are_amounts)
    if role in ("category", "status", "other", "text"):
        return role
    if role in (*MONEY, "fee", "before"):
        # Six or eight digits may look like a date, but below such a heading they are an amount.
        are_dates = share_of(filled, lambda text: not text.isdigit() and dates.is_date(text))
        if are_amounts >= CLAIMED and are_dates < MOST:
            return role
        if role in ("debit", "credit", "amount") and are_marks(filled):
            return "mark"
        return day_role(headings.simplify(name)) if are_dates >= MOST else "text"
    if role == "mark":
        if are_marks(filled):
            return "mark"
        return "amount" if are_amounts >= MOST else "text"
    if role == "currency":
        return role if share_of(filled, _may_be_currency) >= MOST else "text"
    if role == "reference":  # some banks call all that they know of a row so
        return "text" if share_of(filled, _is_phrase) >= MOST else role
    return role


def _is_phrase(text: str) -> bool:
    """Whether a text is of several words, with more letters than figures."""
    return " " in text and sum(map(str.isalpha, text)) > sum(map(str.isdigit, text))


def _instead_of_days(filled: Cells, are_amounts: float) -> str:
    """The role of a column that is called a day and holds none."""
    if share_of(filled, _is_currency) == 1:
        return "currency"  # "Valuta" is a day in some languages, and a currency in others
    return "amount" if are_amounts >= MOST and "." in "".join(filled) else "text"


def _is_currency(text: str) -> bool:
    return text in money.CURRENCY_CODES


def _may_be_currency(text: str) -> bool:
    """Whether a text is a sign of one currency, or may be a code, also one that is not known."""
    return (len(text) == 3 and text.isalpha()) or bool(money.SYMBOLS.get(text.lower()))

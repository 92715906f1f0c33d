"""What really happened on an account, made before anything is printed: it is the truth."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

import msgspec

from lab.documents.statements.choices import Choice
from lab.documents.statements.figures import places
from lab.documents.statements.words import PAYERS, SHOPS, TAILS


class Move(msgspec.Struct):
    """What really happened."""

    day: date
    amount: Decimal
    lines: list[str]
    balance: Decimal = Decimal(0)
    shown_balance: bool = True
    check: str = ""


class Account(msgspec.Struct):
    """An account over the period."""

    number: str
    name: str
    opening: Decimal
    closing: Decimal
    moves: list[Move]


def period_of(rng: random.Random, choice: Choice) -> tuple[date, date]:
    year = rng.choice((2023, 2024, 2025))
    if choice.is_over_new_year:
        return date(year, 12, rng.choice((1, 10, 15))), date(year + 1, 1, rng.choice((14, 20, 31)))
    month = rng.randint(1, 12)
    start = date(year, month, 1)
    end = (start + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return start, end


def account_of(rng: random.Random, choice: Choice, start: date, end: date, number: int) -> Account:
    decimals = places(choice.number)
    unit = Decimal(1).scaleb(-decimals)
    scale = 100 if decimals == 0 else 1
    opening = _money(rng, 900_000, unit) * scale
    if choice.is_card:
        opening = -abs(opening) / 10
        opening = opening.quantize(unit)
    elif rng.random() < 0.15:
        opening = -opening
    days = sorted(
        start + timedelta(days=rng.randint(0, (end - start).days)) for _ in range(choice.rows)
    )
    moves: list[Move] = []
    checks = rng.randint(1001, 4000)
    for day in days:
        move = _move(rng, choice, day, unit, scale)
        if choice.kind == "checks" and move.amount < 0 and rng.random() < 0.5:
            checks += rng.randint(1, 3)
            move.check, move.lines = str(checks), [str(checks)]
        moves.append(move)
        if rng.random() < 0.06 and len(moves) < choice.rows:
            moves.append(msgspec.structs.replace(move, lines=list(move.lines)))  # a twin
    moves = moves[: choice.rows]
    balance = opening
    for at, move in enumerate(moves):
        balance += move.amount
        move.balance = balance
        is_last = at + 1 == len(moves) or moves[at + 1].day != move.day
        move.shown_balance = choice.balance == "running" or (choice.balance == "daily" and is_last)
    digits = "".join(rng.choice("0123456789") for _ in range(9))
    name = ("Current Account", "Savings Account", "Deposit Account")[number % 3]
    return Account(
        f"{digits[:3]}-{digits[3:9]}-{number}{rng.randint(10, 99)}", name, opening, balance, moves
    )


def _move(rng: random.Random, choice: Choice, day: date, unit: Decimal, scale: int) -> Move:
    is_in = rng.random() < (0.2 if choice.is_card else 0.3)
    amount = _money(rng, rng.choice((5_000, 25_000, 25_000, 400_000)), unit) * scale
    amount = max(amount, unit)
    lines = [rng.choice(PAYERS if is_in else SHOPS)]
    tails = {
        "none": 0,
        "some": rng.choice((0, 0, 1, 2)),
        "many": rng.choice((1, 2, 3)),
        "middle": rng.choice((0, 2)),
    }[choice.wrap]
    lines += [rng.choice(TAILS) for _ in range(tails)]
    return Move(day, amount if is_in else -amount, lines)


def _money(rng: random.Random, most: int, unit: Decimal) -> Decimal:
    return (Decimal(rng.randint(1, most)) / 100).quantize(unit)


def truth_of(
    seed: int, choice: Choice, accounts: Sequence[Account], currency: str, period: tuple[date, date]
) -> dict[str, object]:
    rows = [
        {
            "date": move.day.isoformat(),
            "amount": f"{move.amount:f}",
            "balance": f"{move.balance:f}" if move.shown_balance else None,
            "description": " ".join(move.lines),
        }
        for account in accounts
        for move in printed_order(choice, account)
    ]
    sections = [
        {
            "account": a.number,
            "opening": f"{a.opening:f}",
            "closing": f"{a.closing:f}",
            "count": len(a.moves),
        }
        for a in accounts
    ]
    return {
        "seed": seed,
        "currency": currency,
        "period": [day.isoformat() for day in period],
        "kind": "card" if choice.is_card else "account",
        "opening": f"{accounts[0].opening:f}",
        "closing": f"{accounts[-1].closing:f}",
        "sections": sections,
        "transactions": rows,
    }


def printed_order(choice: Choice, account: Account) -> list[Move]:
    if choice.kind == "table":
        return list(reversed(account.moves)) if choice.is_newest_first else account.moves
    groups = groups_of(account)
    return [move for _, moves in groups for move in moves]


def groups_of(account: Account) -> list[tuple[str, list[Move]]]:
    """Movements by kind, each printed in a table of its own."""
    deposits = [move for move in account.moves if move.amount > 0]
    checks = [move for move in account.moves if move.check]
    others = [move for move in account.moves if move.amount < 0 and not move.check]
    columns = 3 if len(checks) > 2 else 1
    if columns == 3:  # printed down each column, so read in that order
        size = -(-len(checks) // 3)
        checks = [*checks[:size], *checks[size : 2 * size], *checks[2 * size :]]
    named = [
        ("Deposits and Additions", deposits),
        ("Checks Paid", checks),
        ("Electronic Withdrawals", others),
    ]
    return [(title, moves) for title, moves in named if moves]

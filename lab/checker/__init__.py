"""An independent judge of a history: every line of the invariants table that applies to the engine, as code.

It reads what `stateward export history` writes (transitions, records, dispositions, dead letters, anchor), a machine
as plain JSON, and what outsiders saw (acknowledged submits and requests, events sent, work handed out). It shares
no code with the engine, on purpose: hashes are computed here with `json` and `hashlib` alone, graphs are looked up
in plain lists. It must never import a package of Stateward.

    history, faults = read_export(Path("export"), machines=[machine_json])
    for violation in [*faults, *check(history)]:
        print(violation)

A law needs what it is checked on: without `records`, without an `anchor`, or with nothing in `seen`, the laws about
them say nothing. `LAWS` lists all of them by their ids in the table.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from lab.checker import attempts, laws, promises, upkeep
from lab.checker.case import Case, Finding
from lab.checker.history import FILES as FILES
from lab.checker.history import History as History
from lab.checker.history import Line as Line
from lab.checker.history import Seen as Seen
from lab.checker.history import Violation as Violation
from lab.checker.history import malformed
from lab.checker.history import read_export as read_export
from lab.checker.history import read_lines as read_lines

Law: TypeAlias = Callable[[Case], Iterator[Finding]]

_ALL: tuple[Law, ...] = (
    laws.h1, laws.h2, laws.h3, laws.h4,
    laws.s1, laws.s2, laws.s3, laws.s4, laws.s5, laws.s6, laws.s7, laws.s8, laws.s9, laws.s10, laws.s11,
    laws.a1, laws.a2, laws.a3,
    promises.e1, promises.e2, promises.e3, promises.e4,
    promises.l1, promises.l2, promises.l3,
    promises.r1, promises.r2, promises.v1, promises.p1, promises.d1,
    promises.o1,  # ours: what a record tells of an attempt is what the attempt kept
    attempts.b1, attempts.c1, attempts.s12, attempts.p2, attempts.u1, attempts.n1,
    promises.w4,  # of the webhooks' laws, what holds of effects before anybody sends them
    upkeep.g1, upkeep.g2, upkeep.g3, upkeep.g4, upkeep.m1,
)  # fmt: skip
LAWS: dict[str, Law] = {law.__name__.upper(): law for law in _ALL}
# Those that hold of erased records, too; the others need what an erasure takes away.
_OF_ERASED = frozenset(
    (
        "H1", "H2", "H3", "H4", "S1", "S3", "S4", "S11", "A1", "A3", "E1", "L1", "L2", "L3", "R1", "R2",
        "G1", "G2", "G3", "G4", "M1",
    )
)  # fmt: skip


def check(history: History) -> list[Violation]:
    """Every violation of every law, in the order of the table."""
    wrong = [*malformed(history)]
    if wrong:  # the other laws may trust the form
        return wrong
    case = rest = Case(history)
    if gone := upkeep.erased_records(history):
        rest = Case(upkeep.without(history, gone))
    return [
        Violation(law=law, where=where, sentence=sentence)
        for law, find in LAWS.items()
        for where, sentence in find(case if law in _OF_ERASED else rest)
    ]

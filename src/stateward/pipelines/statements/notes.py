"""The two kinds of notes: what is wrong or incomplete and needs a person, and what a file only cannot prove.

A note that every second record carries warns no reader of it. So what is merely not provable stays quiet, and a
record is flagged only where something contradicts or is missing.
"""

from collections.abc import Iterable

# A file without balances, or with securities beside its cash, may still be read rightly; so may one about which
# more was said than its format leaves open.
QUIET = frozenset({"NOT_CHECKED", "INVESTMENTS_NOT_READ", "HINT_UNUSED"})
PROOF_REQUIRED = "PROOF_REQUIRED"


def is_contradiction(code: str) -> bool:
    """Whether a note says that something is wrong or incomplete."""
    return code not in QUIET


def flags_of(codes: Iterable[str], *, is_proof_required: bool = False) -> list[str]:
    """The codes that need a person, each once; with `is_proof_required`, what is not proven is one of them."""
    found = dict.fromkeys(code for code in codes if is_contradiction(code))
    if is_proof_required and "NOT_CHECKED" in set(codes):
        found[PROOF_REQUIRED] = None
    return list(found)

"""A statement drawn from a seed: what happened on an account, and how one bank prints it.

Every choice comes from the seed, so a seed is a bug report. The truth is made first and printed afterwards: no part
of the reader is used to make it.
"""

import random

import msgspec

from lab.documents.statements.choices import Choice, choose
from lab.documents.statements.happenings import account_of, period_of, truth_of
from lab.documents.statements.press import Press
from lab.documents.statements.words import TONGUES
from stateward.pipelines.statements.ground_truth import Truth, plain_truth


class Statement(msgspec.Struct):
    """A file and the truth about it."""

    name: str
    pdf: bytes
    truth: dict[str, object]
    choice: Choice

    def known(self) -> Truth:
        """The truth, as it is compared with what was read."""
        return plain_truth(self.truth, self.name)


def draw(seed: int, **forced: object) -> Statement:
    """The statement of a seed; what is forced is as asked, all else as the seed has it."""
    rng = random.Random(seed)
    choice = choose(rng, forced)
    tongue = TONGUES[choice.tongue]
    currency = rng.choice(tongue.currencies.split())
    start, end = period_of(rng, choice)
    accounts = [account_of(rng, choice, start, end, number) for number in range(choice.accounts)]
    press = Press(rng, choice, tongue, currency, (start, end))
    pdf = press.print(accounts)
    truth = truth_of(seed, choice, accounts, currency, (start, end))
    return Statement(f"{choice.tongue}_{choice.sign}_{seed}", pdf, truth, choice)

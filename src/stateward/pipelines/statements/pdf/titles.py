"""What a title above or between rows says about them."""

import re

from stateward.pipelines.kit import dates
from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.statements.booking import may_be_of_unbooked
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tokens import StatementLine

TITLE_WORDS_MAX = 7
_NOISE = re.compile(r"[\W\d_]+")


def direction_of(*titles: str) -> str:
    """CREDIT or DEBIT by the first title that says so; "" if none does."""
    for title in titles:
        text = title_text(title)
        for role, phrases in vocab.TITLES.items():
            if text and phrases.matches(text):
                return role
        if role := _by_words(text):
            return role
    return ""


def _by_words(title: str) -> str:
    """The direction of a title by its words, if those of one side alone are in it: `Other Deductions`.

    `Rejected direct debits` says none: they may not be booked.
    """
    words = set(title.split())
    if len(words) > TITLE_WORDS_MAX or vocab.ACCOUNTS.find(title) or may_be_of_unbooked(title):
        return ""
    found = [role for role, known in vocab.TITLE_WORDS.items() if words & known]
    return found[0] if len(found) == 1 else ""


def may_be_title(line: StatementLine) -> bool:
    """Whether a line is one text without figures that says neither a direction, an account nor a month."""
    if line.money or line.dates or len(cells_of(line)) > 1 or len(line.words) > TITLE_WORDS_MAX + 3:
        return False
    text = vocab.simplify(line.text)
    words = text.split()
    is_known = vocab.ACCOUNTS.find(text) or vocab.PERIODS.find(text) or direction_of(line.text)
    is_continued = any(vocab.CONTINUED.matches(word) for word in words)
    is_month = any(dates.fold(word) in dates.MONTHS for word in words)
    return bool(words) and not (is_known or is_continued or is_month)


def title_text(text: str) -> str:
    """A text as a title: without figures, "continued" and punctuation."""
    words = vocab.simplify(_NOISE.sub(" ", text)).split()
    return " ".join(word for word in words if not vocab.CONTINUED.matches(word))

"""What a title above or between rows says about them."""

import re

from stateward.pipelines.statements.pdf import vocabulary as vocab

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
    """The direction of a title by its words, if those of one side alone are in it: `Other Deductions`."""
    words = set(title.split())
    if len(words) > TITLE_WORDS_MAX or vocab.ACCOUNTS.find(title):
        return ""
    found = [role for role, known in vocab.TITLE_WORDS.items() if words & known]
    return found[0] if len(found) == 1 else ""


def title_text(text: str) -> str:
    """A text as a title: without figures, "continued" and punctuation."""
    words = vocab.simplify(_NOISE.sub(" ", text)).split()
    return " ".join(word for word in words if not vocab.CONTINUED.matches(word))

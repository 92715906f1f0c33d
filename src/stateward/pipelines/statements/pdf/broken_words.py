"""Words of labels and headings that were read as two, because a page prints no blanks and places letters unevenly."""

from collections.abc import Iterable

from msgspec.structs import replace

from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tokens import StatementLine

GAP_MAX = 0.22  # of the height: most blanks are wider
LEVEL_MAX = 0.5  # points between the baselines of both
CHARS_MIN = 6  # of the whole word: shorter ones are found by chance


def mend_words(lines: Iterable[StatementLine]) -> None:
    """Join parts of words that statements print, where the parts are none: `INIZ IALE`, `Descriz ione`."""
    for line in lines:
        words: list[PdfWord] = []
        for word in line.words:
            if words and _are_one(words[-1], word):
                last = words[-1]
                words[-1] = replace(last, text=last.text + word.text, x1=word.x1)
            else:
                words.append(word)
        if len(words) < len(line.words):
            line.words = words
            line.text = " ".join(word.text for word in words)
            line.forget_words()


def _are_one(last: PdfWord, word: PdfWord) -> bool:
    """Whether two words follow closely, and form one that is known though not both of them are."""
    height = last.bottom - last.top
    if abs(last.base - word.base) > LEVEL_MAX or not 0 <= word.x0 - last.x1 <= GAP_MAX * height:
        return False
    if len(last.text) + len(word.text) < CHARS_MIN or not word.text[0].isalpha():
        return False
    joined = vocab.simplify(last.text + word.text)
    return joined in vocab.WORDS and not (
        vocab.simplify(last.text) in vocab.WORDS and vocab.simplify(word.text) in vocab.WORDS
    )

"""What is stamped across a page or struck out on it: that a statement, or a row of it, does not count."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from stateward.pipelines.kit.pdf.pages import PdfPage
from stateward.pipelines.statements.model import RowPlace, StatementProblem
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.tokens import StatementLine, has_decimals

LARGE_MIN = 1.6  # of the usual height: words of a stamp that stands upright
WORDS_MAX = 12  # more are a sentence about something
RAW_CHARS_MAX = 200


def stamped_problem(
    pages: Sequence[PdfPage], lines: Iterable[StatementLine]
) -> Iterator[StatementProblem]:
    """The first stamp, or line by itself, that says that the statement does not count."""
    alone: dict[int, list[str]] = {page.number: [] for page in pages}
    for line in lines:
        if vocab.INVALID.matches(vocab.simplify(line.text)):
            alone[line.page].append(line.text)
    for page in pages:
        for text in [*page.turned.split("\n"), *_large(page), *alone[page.number]]:
            said = vocab.simplify(text)
            if len(said.split()) <= WORDS_MAX and _denies(said):
                message = f"the page is stamped {text.strip()!r}: the statement may not count"
                yield StatementProblem(
                    code="BOOKING_UNPROVEN",
                    message=message,
                    place=RowPlace(page.number),
                    raw=text[:RAW_CHARS_MAX],
                )
                return


def struck_problem(pages: Iterable[PdfPage]) -> Iterator[StatementProblem]:
    """The first page on which an amount has a line through it: a person took it out, or another holds in its place."""
    for page in pages:
        if any(map(has_decimals, page.struck.split())):
            yield StatementProblem(
                code="BOOKING_UNPROVEN",
                message=f"{page.struck[:RAW_CHARS_MAX]!r} is struck out on the page, and was read all the same",
                place=RowPlace(page.number),
                raw=page.struck[:RAW_CHARS_MAX],
            )
            return


def _denies(said: str) -> bool:
    """Whether a stamp begins or ends with such words: within others (`Bank draft terms`) they say no such thing."""
    words = said.split()
    return bool(vocab.INVALID.prefix(said)) or any(
        vocab.INVALID.matches(" ".join(words[-count:])) for count in (1, 2, 3)
    )


def _large(page: PdfPage) -> list[str]:
    """The words of a page that are much larger than most, and say by themselves that it does not count."""
    if not page.words:
        return []
    usual = median(word.bottom - word.top for word in page.words)
    return [
        word.text
        for word in page.words
        if word.bottom - word.top > LARGE_MIN * usual
        and vocab.INVALID.matches(vocab.simplify(word.text))
    ]

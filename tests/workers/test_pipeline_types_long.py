"""mypy accepts a pipeline that is right, and says on the line what is wrong with one that is not."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]

GOOD = """
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_type

from msgspec import Struct

from stateward import Job, Outcome, Pipeline, Retry, at_least, is_true


class Word(Struct):
    text: str


class Count(Struct):
    words: int


@dataclass
class Line:
    text: str


letters = Pipeline("letters", retry=Retry(max_retries=2, backoff_s=(1, 5)))


@letters.stage
def read(job: Job) -> Iterator[Line]:
    yield Line(job.text())


@letters.stage(after=read, timeout_s=30)
def split(job: Job, lines: Iterable[Line]) -> Generator[Word, None, Outcome]:
    for line in lines:
        assert_type(line, Line)
        yield Word(line.text)
    return Outcome(facts={"confidence": 90, "valid": True})


check = letters.review(after=split)
is_sure = split.when(at_least("confidence", 80), is_true("valid"))


@letters.stage(after=[is_sure, check.approved, check.corrected], outcomes=["few", "many"])
def count(job: Job, words: Iterable[Word]) -> Outcome[Count]:
    return Outcome("few", items=[Count(len(list(words)))])


@letters.stage(after=count.on("few"))
def summarize(job: Job, counts: Sequence[Count]) -> Count:
    assert_type(counts[0].words, int)
    for line in job.items(Line, read):
        assert_type(line, Line)
    return counts[0]


@letters.stage(after=summarize)
def publish(job: Job, counts: Iterator[Count]) -> None:
    for count in counts:
        assert_type(count, Count)


@letters.stage(after=publish)
def forget(job: Job) -> dict[str, int]:
    return {"forgotten": 1}


letters.end("too_many", after=count.on("many"))
letters.end("rejected", after=[check.rejected, check.timed_out, letters.exhausted])

assert_type(list(read(Job(record_id="LT_1", stage="read"))), list[Line])
assert_type(summarize(Job(record_id="LT_1", stage="read"), [Count(1)]), Count)
"""

BAD = """
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import Struct

from stateward import Job, Outcome, Pipeline, Retry, at_least


class Word(Struct):
    text: str


@dataclass
class Line:
    text: str


words = Pipeline("words", retry=Retry(max_retries="2"))  # E: expected "int"


@words.stage
def split(job: Job) -> Iterator[Word]:
    yield Line("")  # E: actual type "Line", expected type "Word"


@words.stage(after=split)  # E: has incompatible type "Callable[[Job, Iterable[Line]], Word]"
def count(job: Job, lines: Iterable[Line]) -> Word:
    return Word("")


@words.stage(after=splitt)  # E: Name "splitt" is not defined; did you mean "split"?
def misspelt(job: Job) -> None: ...


@words.stage(after="split")  # E: "after" to "stage" of "Pipeline" has incompatible type "str"
def named(job: Job) -> None: ...


@words.stage(after=split, timeout=3)  # E: Unexpected keyword argument "timeout"
def untimed(job: Job) -> None: ...


@words.stage(after=split, resume="waiting")  # E: No overload variant of "stage" of "Pipeline" matches
def resumed(job: Job) -> None: ...


@words.stage  # E: has incompatible type "Callable[[Job, Iterable[Word]], None]"
def first(job: Job, words: Iterable[Word]) -> None: ...


@words.stage(after=split)
def judge(job: Job, words: Iterable[Word]) -> Outcome[Line]:
    return Outcome(items=[Word("")])  # E: has incompatible type "Word"; expected "Line | Batch"


sure = judge.when(at_least("confidence", "80"))  # E: Argument 2 to "at_least"
unsure = judge.when("confidence < 80")  # E: expected "Guard"


@words.stage(after=sure)  # E: expected "Callable[[Job], Never] | Callable[[Job, Iterator[Line]], Never]
def after_outcome(job: Job, words: Iterable[Word]) -> None: ...


review = words.review(after=split, answers=["aproved"])  # E: expected "Literal['approved'
review.aproved  # E: has no attribute "aproved"; maybe "approved"?


@words.stage(after=review)  # E: has incompatible type "Callable[[Job, Iterable[Line]], None]"
def after_review(job: Job, lines: Iterable[Line]) -> None:
    for word in job.items(Word, split):
        word.txt  # E: "Word" has no attribute "txt"; maybe "text"?
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_mypy_accepts_the_good_and_explains_the_bad(tmp_path: Path) -> None:
    """One run for both: most of its time is for Stateward itself."""
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    config = f"--config-file={ROOT / 'pyproject.toml'}"
    files = [str(tmp_path / name) for name in ("good.py", "bad.py")]

    report, trouble, _ = api.run([config, "--no-error-summary", "--hide-error-context", *files])

    assert not trouble
    errors = re.findall(r"(\w+)\.py:(\d+): error: (.*)", report)
    assert [error for error in errors if error[0] != "bad"] == []
    for number, line in enumerate(BAD.splitlines(), start=1):
        found = [message for _, at, message in errors if int(at) == number]
        _, _, expected = line.partition("# E: ")
        assert bool(found) == bool(expected), (line, found)
        assert any(expected in message for message in found) or not expected, (line, found)

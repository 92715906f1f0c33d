"""Items of a pipeline in Python are checked when they are produced, and given to the next stage as what they were."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import msgspec
import pytest

from stateward import Job, Outcome, Pipeline, at_least
from stateward.core.machine import is_true
from stateward.workers import sdk
from stateward.workers.sdk import Completed, Failed, Limits, Result, registered_runners, run_runner


class Word(msgspec.Struct):
    text: str


@dataclass
class Line:
    text: str
    number: int = 0


class Entry(TypedDict):
    text: str


class Model:
    """What a pydantic model looks like from outside."""

    fields: ClassVar = {"text": str}

    def __init__(self, text: str) -> None:
        self.text = text

    def __iter__(self) -> Iterator[tuple[str, object]]:
        yield "text", self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and other.text == self.text

    __hash__ = None  # type: ignore[assignment]

    def model_dump_json(self) -> str:
        return msgspec.json.encode({"text": self.text}).decode()

    @classmethod
    def model_validate_json(cls, json_data: str | bytes) -> "Model":
        return cls(msgspec.json.decode(json_data, type=Word).text)


@pytest.fixture(autouse=True)
def _own_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_RUNNERS", {})


def attempt(name: str, **items: list[object]) -> Result:
    """One attempt at a stage as a worker makes it; `items` are those of earlier stages."""
    chunks = {stage: [msgspec.json.encode(each).decode()] for stage, each in items.items()}
    job = Job(record_id="WD_1", stage=name, items=chunks)
    return run_runner(
        registered_runners()[name], job, limits=Limits(), sleep=lambda _: None, now=lambda: 0
    )


def items_of(result: Result) -> list[object]:
    assert isinstance(result, Completed), result
    return [item for chunk in result.chunks for item in msgspec.json.decode(chunk.data)]


def a_pipeline(kind: Any, *given: object) -> None:  # noqa: ANN401 - any type of items
    """Two stages: the first produces these items of a type, the second takes them and says what they were."""
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[kind]:
        yield from given

    @words.stage(after=split)
    def show(job: Job, words: Iterable[kind]) -> Iterator[dict[str, str]]:
        yield from ({"seen": repr(word)} for word in words)


@pytest.mark.parametrize(
    ("kind", "item", "seen"),
    [
        (Word, Word("be"), "Word(text='be')"),
        (Word, {"text": "be"}, "Word(text='be')"),
        (Line, Line("be", 2), "Line(text='be', number=2)"),
        (Entry, {"text": "be"}, "{'text': 'be'}"),
        (dict[str, str], {"text": "be"}, "{'text': 'be'}"),
        (Any, Word("be"), "{'text': 'be'}"),
    ],
)
def test_items_are_given_back_as_what_they_were(kind: object, item: object, seen: str) -> None:
    a_pipeline(kind, item)

    produced = items_of(attempt("words.split"))

    assert items_of(attempt("words.show", split=produced)) == [{"seen": seen}]


def test_a_pydantic_model_is_an_item_type() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Model]:
        yield Model("to")
        yield {"text": "be"}  # type: ignore[misc]

    @words.stage(after=split)
    def join(job: Job, words: Iterable[Model]) -> Model:
        return Model(" ".join(word.text for word in words))

    produced = items_of(attempt("words.split"))

    assert produced == [{"text": "to"}, {"text": "be"}]
    assert items_of(attempt("words.join", split=produced)) == [{"text": "to be"}]


@pytest.mark.parametrize(
    ("kind", "item", "message"),
    [
        (Word, Word(3), "item 1 is not Word: Expected `str`, got `int` - at `$.text`"),  # type: ignore[arg-type]
        (Word, {"txt": "be"}, "item 1 is not Word: Object missing required field `text`"),
        (Line, Line("be", "2"), "item 1 is not Line: Expected `int`, got `str` - at `$.number`"),  # type: ignore[arg-type]
        (Word, "be", "item 1 is not Word: Expected `object`, got `str`"),
        (Word, object(), "item 1 is not Word: Encoding objects of type object is unsupported"),
        (Model, {"txt": 1}, "item 1 is not Model: Object missing required field `text`"),
    ],
)
def test_an_item_of_another_shape_fails_the_attempt(
    kind: object, item: object, message: str
) -> None:
    a_pipeline(kind, item)

    result = attempt("words.split")

    assert isinstance(result, Failed)
    assert (result.code, result.message, result.is_retryable) == ("BAD_ITEM", message, False)


def test_items_that_were_stored_under_another_type_are_refused_when_they_are_read() -> None:
    a_pipeline(Word)

    result = attempt("words.show", split=[{"txt": "be"}])

    assert isinstance(result, Failed)
    assert result.code == "BAD_ITEM"
    assert "reads are not Word: Object missing required field `text`" in result.message


def test_a_stage_that_says_it_has_no_items_gives_none() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Outcome:
        return Outcome(items=[{"text": "be"}])

    result = attempt("words.split")

    assert isinstance(result, Failed)
    assert result.message.startswith(
        "the stage gave an item, but its annotation says that it has none"
    )


def test_an_outcome_that_the_stage_does_not_have_fails_the_attempt() -> None:
    words = Pipeline("words")

    @words.stage(outcomes=["few", "many"])
    def count(job: Job) -> Outcome:
        return Outcome("mnay")

    result = attempt("words.count")

    assert isinstance(result, Failed)
    assert result.code == "BAD_OUTCOME"
    assert "words.count has no outcome 'mnay'; it has: few, many" in result.message


def test_items_come_from_the_nearest_stage_that_has_any_and_as_they_were_corrected() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Generator[Word, None, Outcome]:
        yield Word("")
        return Outcome()

    @words.stage(after=split)
    def judge(job: Job, words: list[Word]) -> Outcome:
        return Outcome(facts={"words": len(words)})

    check = words.review(after=judge)

    @words.stage(after=[judge.when(at_least("words", 3)), check])
    def join(job: Job, words: Iterable[Word]) -> Line:
        return Line(" ".join(word.text for word in words))

    found: list[object] = [{"text": "to"}, {"text": "eb"}]
    corrected: list[object] = [{"text": "to"}, {"text": "be"}]

    judged = attempt("words.judge", split=found)
    assert isinstance(judged, Completed)
    assert judged.facts == {"words": 2}
    assert items_of(attempt("words.join", split=found, judge=[])) == [
        {"text": "to eb", "number": 0}
    ]
    assert items_of(attempt("words.join", split=found, judge=[], review=corrected)) == [
        {"text": "to be", "number": 0}
    ]


def test_items_of_an_alternative_are_those_of_the_branch_that_was_taken() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        yield Word("")

    @words.stage(after=split.when(is_true("long")))
    def shorten(job: Job, words: Iterable[Word]) -> Iterator[Word]:
        yield Word("")

    @words.stage(after=[split, shorten])
    def join(job: Job, words: Iterable[Word]) -> Line:
        return Line(" ".join(word.text for word in words))

    short: list[object] = [{"text": "to"}]
    long: list[object] = [{"text": "to"}, {"text": "be"}]
    assert items_of(attempt("words.join", split=short)) == [{"text": "to", "number": 0}]
    assert items_of(attempt("words.join", split=long, shorten=short)) == [
        {"text": "to", "number": 0}
    ]


def test_items_of_another_stage_are_read_by_naming_its_function() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        yield Word("")

    job = Job(record_id="WD_1", stage="x", items={"split": ['[{"text":"be"}]'], "x": ["[]"]})

    assert list(job.items(Word, split)) == [Word("be")]
    assert list(job.items(split)) == [{"text": "be"}]


def test_a_stage_is_called_with_a_job_that_needs_no_worker() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        yield from map(Word, job.text().split())

    job = Job.for_test("to be", items={"split": [Word("or"), Line("not")]}, labels={"a": "b"})

    assert list(split(job)) == [Word("to"), Word("be")]
    assert job.open().read() == b"to be"
    assert [item["text"] for item in job.items(split)] == ["or", "not"]
    assert job.labels == {"a": "b"}

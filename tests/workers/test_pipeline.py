"""A pipeline in Python: what it declares, what it refuses at which line, and how its stages are given their items."""

import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from textwrap import dedent
from typing import Any, ClassVar, TypedDict

import msgspec
import pytest

from stateward import App, DeclarationError, Job, Outcome, Pipeline, Retry, at_least
from stateward.core.machine import Route, all_of, is_true
from stateward.pipelines import load
from stateward.workers import sdk
from stateward.workers.sdk import Completed, Failed, Limits, Result, registered, run_runner


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
    return run_runner(registered()[name], job, limits=Limits(), sleep=lambda _: None, now=lambda: 0)


def items_of(result: Result) -> list[object]:
    assert isinstance(result, Completed), result
    return [item for chunk in result.chunks for item in msgspec.json.decode(chunk.data)]


# What it declares


def test_states_and_edges_follow_from_the_stages() -> None:
    words = Pipeline("words", retry=Retry(max_retries=1, backoff_s=(5,)))

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        """The words of the document."""
        yield Word("")

    @words.stage(after=split)
    def count(job: Job) -> None: ...

    machine = words.machine
    assert (machine.name, machine.version, machine.prefix) == ("words", 1, "WORDS")
    assert [(state.name, state.kind) for state in machine.states] == [
        ("split_queued", "ready"),
        ("split_running", "running"),
        ("count_queued", "ready"),
        ("count_running", "running"),
        ("completed", "terminal"),
        ("failed", "failed"),
    ]
    assert machine.state["split_running"].doc == "The words of the document."
    assert machine.allowed_from("split_running") == ("count_queued", "failed")
    assert machine.allowed_from("failed") == ("split_queued", "count_queued")
    assert machine.retry == Retry(max_retries=1, backoff_s=(5,))
    assert machine.expose == {"split_log_ref": "split_running", "count_log_ref": "count_running"}
    assert [stage.runner for stage in machine.stages] == ["words.split", "words.count"]


def test_a_stage_is_still_its_function() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        """The words of the document."""
        yield from map(Word, job.record_id.split("_"))

    @words.stage(after=split)
    def join(job: Job, words: Iterable[Word]) -> Line:
        return Line(" ".join(word.text for word in words))

    job = Job(record_id="WD_1", stage="split")
    assert list(split(job)) == [Word("WD"), Word("1")]
    assert join(job, [Word("to"), Word("be")]) == Line("to be")
    assert (split.__name__, split.__doc__) == ("split", "The words of the document.")


def test_outcomes_and_guards_become_routes() -> None:
    class Size(StrEnum):
        FEW = "few"
        MANY = "many"

    words = Pipeline("words")

    @words.stage(outcomes=Size)
    def count(job: Job) -> Outcome:
        return Outcome(Size.FEW)

    @words.stage(after=count.on(Size.FEW))
    def rest(job: Job) -> None: ...

    @words.stage(after=count.on(Size.FEW).when(at_least("words", 3)).when(is_true("valid")))
    def index(job: Job) -> None: ...

    words.end("too_many", after=count.on(Size.MANY))

    assert words.machine.stage["count"].outcomes == {
        "few": (
            Route(to="index_queued", when=all_of(at_least("words", 3), is_true("valid"))),
            Route(to="rest_queued"),
        ),
        "many": (Route(to="too_many"),),
    }


def test_a_review_ends_what_is_rejected_or_not_answered_unless_something_follows() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        yield Word("")

    check = words.review("check", after=split, timeout_s=60)

    @words.stage(after=check)
    def index(job: Job, words: Iterable[Word]) -> None: ...

    (review,) = words.machine.reviews
    assert (review.name, review.state, review.of) == ("check", "check_required", "split")
    assert review.outcomes == {
        "approved": "index_queued",
        "corrected": "index_queued",
        "rejected": "rejected",
    }
    assert (review.on_timeout, review.timeout_s) == ("timed_out", 60)


def test_where_used_up_retries_and_fatal_failures_lead_can_be_said() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> None: ...

    words.end("dead", after=[words.exhausted, split.fatal])

    assert words.machine.on_exhausted == "dead"
    stage = words.machine.stage["split"]
    assert (stage.on_error, stage.on_fatal, stage.on_error_waiting) == ("failed", "dead", "dead")


def test_a_new_version_says_what_became_of_statuses() -> None:
    words = Pipeline("words", version=2, upgrades={1: {"waiting": "split_queued"}})

    @words.stage
    def split(job: Job) -> None: ...

    assert words.machine.version == 2
    assert words.machine.upgrades == {1: {"waiting": "split_queued"}}


# What it refuses, and where

START = """\
from collections.abc import Iterable, Iterator
from msgspec import Struct
from stateward import Job, Outcome, Pipeline, at_least, is_true

class Word(Struct):
    text: str

class Line(Struct):
    number: int

words = Pipeline("words")

@words.stage
def split(job: Job) -> Iterator[Word]:
    yield Word("")

"""
LINE = START.count("\n") + 1


def refusal(source: str) -> str:
    """What importing a module says that goes on like this; its first line is line 17."""
    code = compile(START + dedent(source), "words.py", "exec")
    with pytest.raises(DeclarationError) as refused:
        exec(code, {"__name__": "words"})  # noqa: S102 - the module of a user
    return str(refused.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "@words.stage(after='split')\ndef count(job): ...",
            "words.count: after= takes stages of this pipeline, not 'split'; there are: split",
        ),
        (
            "@words.stage(after=print)\ndef count(job): ...",
            "words.count: after= takes stages of this pipeline, not <built-in function print>; there are: split",
        ),
        (
            "@words.stage(after=Pipeline('others').exhausted)\ndef count(job): ...",
            "words.count: cannot follow <exhausted of others.>, which is of another pipeline",
        ),
        (
            "@words.stage\ndef count(job): ...",
            "words.count: nothing leads to it: 'split' (line 13) is first, so say after=...",
        ),
        (
            "@words.stage(timeout_s=3)\ndef count(job): ...",
            "words.count: nothing leads to it: 'split' (line 13) is first, so say after=...",
        ),
        (
            "@words.stage(after=split, timeout=3)\ndef count(job): ...",
            "words.count: there is no option timeout",
        ),
        (
            "@words.stage(after=split)\ndef count(job, lines: Iterable[Line]): ...",
            "words.count: it takes items of type Line, but 'split' (line 13) produces Word",
        ),
        (
            "@words.stage(after=split)\ndef count(job, words: Iterable[dict]): ...",
            "words.count: it takes items of type a dict, but 'split' (line 13) produces Word",
        ),
        (
            "@words.stage(after=split)\ndef count(job, word: Word): ...",
            "words.count: annotate 'word' as Iterable[...]: it is given many items",
        ),
        (
            "@words.stage(after=split)\ndef count(job, words, lines): ...",
            "words.count: a stage takes the job, and as a second argument the items before it",
        ),
        (
            "@words.stage(after=split)\ndef count(): ...",
            "words.count: a stage takes the job, and as a second argument the items before it",
        ),
        (
            "@words.stage(after=split)\ndef count(job) -> Iterator[int]: ...",
            "words.count: an item type is a Struct, dataclass, TypedDict or pydantic model, not int",
        ),
        (
            "@words.stage(after=split)\ndef count(job) -> 'Iterator[Wrod]': ...",
            "words.count: its annotations cannot be read (name 'Wrod' is not defined); import the name outside "
            "`if TYPE_CHECKING`",
        ),
        (
            "@words.stage(after=split)\ndef Count(job): ...",
            "words.Count: a name is written in lower-case letters, digits and _, like 'parse', not 'Count'",
        ),
        (
            "@words.stage(after=split, name='split')\ndef count(job): ...",
            "words.split: there is a 'split' already, on line 13",
        ),
        (
            "@words.stage(after=split.on('many'))\ndef count(job): ...",
            "words.split: there is no outcome 'many'; there are: done",
        ),
        (
            "@words.stage(after=words.exhausted)\ndef count(job): ...",
            "words.count: only an end can follow <exhausted of words.>",
        ),
        (
            "words.exhausted.when(at_least('words', 3))",
            "words.: a guard tests the facts of one outcome of a stage",
        ),
        (
            "check = words.review(after=split, answers=['approved']).corrected",
            "words.review: there is no answer 'corrected'; there are: approved",
        ),
        (
            "Pipeline('Words')",
            "Pipeline: a name is written in lower-case letters, digits and _, like 'parse', not 'Words'",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_at_its_line_when_the_module_is_imported(
    source: str, expected: str
) -> None:
    assert refusal(source) == f"words.py:{LINE}: {expected}"


def test_two_stages_cannot_follow_the_same_one() -> None:
    source = """\
        @words.stage(after=split)
        def count(job): ...

        @words.stage(after=split)
        def sort(job): ...
    """

    assert refusal(source) == (
        f"words.py:{LINE + 3}: words.sort: 'count' (line {LINE}) follows 'split' already; "
        "tell them apart by outcomes (.on) or guards (.when)"
    )


def test_a_stage_with_several_outcomes_is_followed_by_one_of_them() -> None:
    source = """\
        @words.stage(after=split, outcomes=["few", "many"])
        def count(job): ...

        @words.stage(after=count)
        def sort(job): ...
    """

    assert refusal(source) == (
        f"words.py:{LINE + 3}: words.sort: 'count' has several outcomes; say which one: .on('few'), .on('many')"
    )


def test_items_that_no_stage_produces_cannot_be_taken() -> None:
    source = """\
        letters = Pipeline("letters")

        @letters.stage
        def read(job) -> None: ...

        @letters.stage(after=read)
        def count(job, words: Iterable[Word]): ...
    """

    assert refusal(source) == (
        f"words.py:{LINE + 5}: letters.count: it takes 'words', but no stage before it produces items"
    )


def test_a_runner_of_that_name_elsewhere_is_refused() -> None:
    sdk.runner("words.count")(repr)

    assert refusal("@words.stage(after=split)\ndef count(job): ...") == (
        f"words.py:{LINE}: words.count: there are two runners 'words.count': builtins:repr and words:count; "
        "rename one of them"
    )


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        (
            "words.end('long', after=split.when(at_least('words', 3)))",
            13,
            "words.split: only steps with a guard follow it: add one without .when(...) for all other records",
        ),
        (
            "@words.stage(after=split, outcomes=['few', 'many'])\ndef count(job): ...\n"
            "words.end('short', after=count.on('few'))",
            LINE,
            "words.count: nothing follows its outcome 'many': add a stage or an end after .on('many')",
        ),
        (
            "check = words.review(after=split)\nwords.end('good', after=check.approved)",
            LINE,
            "words.review: nothing follows the answer 'corrected': add a stage or an end after it",
        ),
        (
            "@words.stage(after=split, timeout_s=0)\ndef count(job): ...",
            LINE,
            "words.stages.count.timeout_s: 'count_running' needs a timeout of more than 0 s and at most a year",
        ),
        (
            "@words.stage(after=split, status='split_queued')\ndef count(job): ...",
            LINE,
            "words.stages.count: 'split_queued' belongs to stage 'split' already",
        ),
    ],
)
def test_what_only_the_whole_pipeline_shows_is_refused_where_it_is_loaded(
    source: str, line: int, expected: str
) -> None:
    (first, *_) = refusal(f"{source}\nwords.machine").splitlines()

    assert first == f"words.py:{line}: {expected}"


def test_an_empty_pipeline_is_refused() -> None:
    with pytest.raises(DeclarationError, match="letters: a pipeline has at least one stage"):
        Pipeline("letters").machine  # noqa: B018


def test_a_pipeline_in_use_cannot_be_changed() -> None:
    source = """\
        words.machine

        @words.stage(after=split)
        def count(job): ...
    """

    assert "words.count: the pipeline is in use and can no longer be changed" in refusal(source)


def test_a_misspelt_stage_is_a_mistake_of_python_itself() -> None:
    code = compile(f"{START}@words.stage(after=splitt)\ndef count(job): ...", "words.py", "exec")

    with pytest.raises(NameError, match="splitt"):
        exec(code, {"__name__": "words"})  # noqa: S102 - the module of a user


# Items


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


# Running

SCRIPT = """\
from collections.abc import Iterable, Iterator

from msgspec import Struct

from stateward import App, Job, Outcome, Pipeline, Retry, at_least

words = Pipeline("words", retry=Retry(max_retries=2, backoff_s=(0,)))


class Word(Struct):
    text: str


@words.stage
def split(job: Job) -> Iterator[Word]:
    yield from map(Word, job.text().split())


@words.stage(after=split)
def count(job: Job, words: Iterable[Word]) -> Outcome:
    if job.retry_count == 0:
        raise ValueError("the first attempt fails")
    return Outcome(facts={"words": len(list(words))})


@words.stage(after=count.when(at_least("words", 3)))
def shout(job: Job, words: Iterable[Word]) -> Word:
    return Word(" ".join(word.text.upper() for word in words))


words.end("too_short", after=count)
"""
RUN = """
if __name__ == "__main__":
    with App.embedded("data", pipelines=[words]) as app:
        records = [app.submit(text, machine="words").record for text in (b"to be or not", b"be")]
        app.run_until_idle()
        for record in records:
            print(app.record(record.id).status, *app.items(record.id))
"""
PRINTED = "completed {'text': 'TO BE OR NOT'}\ntoo_short\n"


def run(script: Path) -> str:
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=script.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pipeline_of_a_script_runs_in_confined_children(tmp_path: Path) -> None:
    script = tmp_path / "words.py"
    script.write_text(SCRIPT + RUN)

    assert run(script) == PRINTED


def test_a_pipeline_of_an_imported_module_runs_in_confined_children(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(SCRIPT)
    script = tmp_path / "main.py"
    script.write_text(f"from stateward import App\nfrom words import words\n{RUN}")

    assert run(script) == PRINTED


def test_the_settings_can_name_the_file_of_a_pipeline(tmp_path: Path) -> None:
    file = tmp_path / "words_by_file.py"
    file.write_text(SCRIPT)

    (machine,) = load([str(file)])

    assert (machine.name, list(machine.stage)) == ("words", ["split", "count", "shout"])


def test_an_app_with_a_wrong_pipeline_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="letters: a pipeline has at least one stage"):
        App.embedded(tmp_path, pipelines=[Pipeline("letters")])

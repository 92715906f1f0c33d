"""A wrong pipeline in Python is refused when its module is imported, at the line of the mistake."""

import runpy
from pathlib import Path
from textwrap import dedent

import pytest

from stateward import DeclarationError, Pipeline
from stateward.workers import sdk

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


@pytest.fixture(autouse=True)
def _own_runners_and_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sdk, "_RUNNERS", {})
    monkeypatch.chdir(tmp_path)


def refusal(source: str) -> str:
    """What importing a module says that goes on like this; its first line is line 17."""
    with pytest.raises(DeclarationError) as refused:
        load(START + dedent(source))
    return str(refused.value)


def load(source: str) -> None:
    """Import a module of a user; its file is named as in the messages."""
    Path("words.py").write_text(source, "utf-8")
    runpy.run_path("words.py", run_name="words")


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
            "@words.stage(after=split)\nasync def count(job): ...",
            "words.count: a stage is a plain function; call asyncio.run() in it instead of `async def`",
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
    with pytest.raises(NameError, match="splitt"):
        load(f"{START}@words.stage(after=splitt)\ndef count(job): ...")

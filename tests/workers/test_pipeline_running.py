"""A pipeline in Python runs as others do: its stages in confined children, whatever module they are defined in."""

import subprocess
import sys
from pathlib import Path

import pytest

from stateward import App, DeclarationError, Pipeline
from stateward.definition.discovery import load_plugins, machines
from stateward.workers import sdk

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


@pytest.fixture(autouse=True)
def _own_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_RUNNERS", {})


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

    (found,) = load_plugins(str(file))
    (machine,) = machines(found.plugin)

    assert (machine.name, list(machine.stage)) == ("words", ["split", "count", "shout"])


def test_an_app_with_a_wrong_pipeline_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="letters: a pipeline has at least one stage"):
        App.embedded(tmp_path, pipelines=[Pipeline("letters")])


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("after=splitt", "NameError: name 'splitt' is not defined"),
        ("after=split, timeout_s=", "SyntaxError"),
    ],
)
def test_the_loader_of_a_file_is_told_the_line_of_the_mistake(
    tmp_path: Path, wrong: str, reason: str
) -> None:
    file = tmp_path / "misspelt_words.py"
    text = SCRIPT.replace("after=split", wrong)
    file.write_text(text)
    line = text[: text.index(wrong)].count("\n") + 1

    for _ in range(2):  # a file that was refused is not taken for loaded
        with pytest.raises(DeclarationError) as refused:
            load_plugins(str(file))
        assert str(refused.value).startswith(
            f"{file}:{line}: pipelines: cannot be loaded: {reason}"
        )

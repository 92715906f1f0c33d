"""What a script without types may give by mistake, and what it is told."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from stateward import App, Job, Pipeline
from stateward.core.errors import InvalidRequest, StoreError
from tests.workers.children import with_path

NO_DOCUMENT = (
    "a document is a Path or bytes, not {}: write Path('name') for a file, or encode the text"
)


def counting() -> Pipeline:
    words = Pipeline("words")

    @words.stage
    def count(job: Job) -> dict[str, int]:
        return {"words": len(job.text().split())}

    return words


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda app: app.submit("to be"), NO_DOCUMENT.format("str")),
        (lambda app: app.submit(None), NO_DOCUMENT.format("NoneType")),
        (lambda app: app.submit(["to", "be"]), NO_DOCUMENT.format("str")),
        (
            lambda app: app.submit(b"", labels={"pages": 3}),
            "labels are text: 'pages' is given as int",
        ),
    ],
)
def test_what_is_no_document_is_refused_with_a_sentence(
    tmp_path: Path, act: Callable[[App], object], told: str
) -> None:
    with App.embedded(tmp_path, pipelines=[counting()]) as app:
        with pytest.raises(InvalidRequest) as refused:
            act(app)

        assert str(refused.value) == told
        assert app.store.queries.counts() == {}


def test_the_only_pipeline_of_a_script_takes_documents_that_name_none(tmp_path: Path) -> None:
    with App.embedded(tmp_path, pipelines=[counting()]) as app:
        assert app.submit(bytearray(b"to be")).record.machine == "words"  # type: ignore[arg-type]


def test_a_script_that_brings_two_pipelines_means_neither_where_it_names_none(
    tmp_path: Path,
) -> None:
    """A plug-in is one, too: which of them is meant is not decided by how it was made."""
    other = Pipeline("other")

    @other.stage
    def count(job: Job) -> dict[str, int]:
        return {"chars": len(job.text())}

    with App.embedded(tmp_path, pipelines=[counting(), other.plugin]) as app:  # type: ignore[list-item]
        assert app.submissions.default_machine == "upload"


def test_an_app_that_was_closed_says_so(tmp_path: Path) -> None:
    with App.embedded(tmp_path, pipelines=[counting()]) as app:
        pass

    with pytest.raises(StoreError, match=r"stateward\.db was closed; open it again"):
        app.submit(b"to be")


def test_stages_typed_at_a_prompt_are_told_what_to_do(tmp_path: Path) -> None:
    typed = """
        from stateward import App, Job, Pipeline

        words = Pipeline("words")

        @words.stage
        def count(job: Job):
            return {"words": len(job.text().split())}

        with App.embedded("data", pipelines=[words]) as app:
            record = app.submit(b"to be").record
            app.run_until_idle()
            print(app.record(record.id).error_message)
    """

    done = subprocess.run(
        [sys.executable, "-"],
        input=textwrap.dedent(typed),
        cwd=tmp_path,
        env=with_path(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert "save them as a .py file and import it" in done.stdout

"""What runner authors use: names of runners, jobs, and the log of an attempt."""

import math
from pathlib import Path
from types import FunctionType

import pytest

import stateward.workers
from stateward.core.errors import UnknownName
from stateward.core.model import Fields
from stateward.workers import sdk
from stateward.workers.attempt_log import AttemptLog
from stateward.workers.job_files import empty_folder
from stateward.workers.sdk import Completed, Job, Runner, registered_runners, runner
from tests.workers.jobs import NOW, Odd, a_job, completed, failed, items, lines, parse, run


@pytest.fixture
def no_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_RUNNERS", {})


def parse_again(job: Job) -> None: ...


# Names


@pytest.mark.usefixtures("no_runners")
def test_a_function_is_registered_and_stays_what_it_is() -> None:
    assert runner("upload.parse")(parse) is parse

    assert registered_runners() == {"upload.parse": Runner("upload.parse", parse)}


@pytest.mark.usefixtures("no_runners")
def test_two_functions_cannot_share_a_name() -> None:
    runner("upload.parse")(parse)

    with pytest.raises(
        ValueError, match=r"two runners 'upload.parse': .*:parse and .*:parse_again"
    ):
        runner("upload.parse")(parse_again)


@pytest.mark.usefixtures("no_runners")
def test_a_module_may_be_imported_again_and_under_another_name() -> None:
    again = FunctionType(parse.__code__, {"__name__": parse.__module__}, "parse")
    as_script = FunctionType(parse.__code__, {"__name__": "__mp_main__"}, "parse")

    for function in (parse, again, as_script):
        runner("upload.parse")(function)

    assert registered_runners()["upload.parse"].function is as_script


@pytest.mark.parametrize("name", ["", "Upload.parse", "upload.", ".parse", "a b", "upload..parse"])
def test_a_strange_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a runner"):
        runner(name)


def test_the_decorator_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"write @runner\('machine.stage'\)"):
        runner(parse)  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_runners")
def test_any_callable_can_be_a_runner() -> None:
    class Parser:
        def __call__(self, job: Job) -> Fields:
            return {"ok": True}

    runner("upload.parse")(Parser())
    with pytest.raises(ValueError, match="two runners"):
        runner("upload.parse")(parse)

    assert items(completed(registered_runners()["upload.parse"].function)) == [{"ok": True}]


def test_the_public_names_are_those_of_the_kit() -> None:
    assert all(hasattr(stateward.workers, name) for name in stateward.workers.__all__)


# Jobs


def test_a_job_reads_its_artifact(tmp_path: Path) -> None:
    artifact = tmp_path / "artifact"
    artifact.write_bytes("Grüße\r\n".encode("latin-1"))

    job = a_job(path=artifact)

    assert job.path == artifact
    assert job.bytes() == b"Gr\xfc\xdfe\r\n"
    assert job.text(encoding="latin-1") == "Grüße\r\n"
    with job.open() as file:
        assert file.read(2) == b"Gr"


def test_a_job_without_an_artifact_says_so() -> None:
    result = failed(lambda job: {"text": job.text()})

    assert result.code == "NO_ARTIFACT"
    assert result.message.startswith(
        "UL_1 has no artifact; stage 'parse' can read job.items() only"
    )
    assert not result.is_retryable


def test_items_are_those_of_the_latest_stage_that_produced_any() -> None:
    job = a_job(
        items={"ocr": ['[{"a":1}]', b'[{"a":2},{"a":3}]'], "parse": ['[{"b":1}]'], "skip": []}
    )

    assert list(job.items()) == [{"b": 1}]
    assert list(job.items("ocr")) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert list(job.items("skip")) == []
    assert list(a_job().items()) == []


def test_items_of_a_stage_that_is_not_there_are_a_mistake() -> None:
    with pytest.raises(UnknownName, match=r"no earlier stage .orc.; did you mean ocr\?"):
        a_job(items={"ocr": []}).items("orc")


def test_labels_cannot_be_changed() -> None:
    job = a_job(labels={"source": "bank"})

    with pytest.raises(TypeError):
        job.labels["source"] = "x"  # type: ignore[index]


def test_the_scratch_folder_is_private_and_gone_afterwards() -> None:
    seen: list[Path] = []

    def function(job: Job) -> None:
        assert job.scratch == job.scratch
        (job.scratch / "a").mkdir()
        (job.scratch / "a" / "b").write_text("x")
        seen.append(job.scratch)
        assert job.scratch.stat().st_mode & 0o077 == 0

    completed(function)

    assert not seen[0].exists()


def test_a_given_scratch_folder_is_emptied_and_kept(tmp_path: Path) -> None:
    job = a_job(scratch=tmp_path)

    run(lambda job: (job.scratch / "x").write_text("x") and None, job)

    assert list(tmp_path.iterdir()) == []


def test_a_scratch_folder_that_cannot_be_emptied_is_only_a_warning(tmp_path: Path) -> None:
    job = a_job(scratch=tmp_path / "not there")

    result = run(lambda job: None, job)

    assert isinstance(result, Completed)
    assert "could not be emptied" in lines(result)[0]["message"]


def test_folders_are_emptied_whatever_they_hold(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder = tmp_path / "folder"
    (folder / "a" / "b" / "c").mkdir(parents=True)
    (folder / "a" / "file").write_text("x")
    (folder / "a" / "b" / "link").symlink_to(kept)
    (folder / ".removed-1").write_text("the name is taken")
    (folder / "locked" / "inner").mkdir(parents=True)
    (folder / "locked").chmod(0)

    empty_folder(folder)

    assert list(folder.iterdir()) == []
    assert (kept / "file").exists()


# The log


def test_a_line_has_its_time_level_sentence_and_facts() -> None:
    def function(job: Job) -> None:
        job.log("row rejected", level="warning", row=17, reason="no date", at="here")

    assert lines(completed(function)) == [{
        "at": "2023-11-14T22:13:20.000000Z", "level": "warning", "message": "row rejected",
        "row": 17, "reason": "no date", "at_": "here",
    }]  # fmt: skip


def test_odd_facts_are_shown_as_text() -> None:
    cycle: list[object] = []
    cycle.append(cycle)

    def function(job: Job) -> None:
        job.log("odd", path=Path("/x"), error=Odd(), nan=math.nan, big="x" * 100_000)
        job.log("odder", cycle=cycle)
        job.log("oddest", keys={(1, 2): 3})
        job.log("plain", path=Path("/x"), error=Odd())

    first, second, third, fourth = lines(completed(function))

    assert first["cut"] == "facts of 100057 bytes"
    assert second["message"] == "odder"
    assert third["keys"] == {"(1, 2)": 3}
    assert (fourth["path"], fourth["error"]) == ("/x", "(of type Odd)")


def test_a_log_is_bounded_and_says_what_was_cut() -> None:
    def function(job: Job) -> None:
        for number in range(1000):
            job.log("x" * 100, number=number)
        raise ValueError("the reason is kept")

    result = failed(function, log_bytes_max=10_000)

    *_, reason, closing = lines(result)
    assert len(result.log.encode()) <= 10_000
    assert reason["message"] == "ValueError: the reason is kept"
    assert closing["level"] == "warning"
    assert closing["message"].startswith("the log is full: ")


def test_a_log_too_small_for_anything_is_empty() -> None:
    book = AttemptLog(bytes_max=10, now=lambda: NOW)

    book.write("info", "x", {})

    assert book.text() == ""


def test_each_line_is_one_line_for_every_reader() -> None:
    def function(job: Job) -> None:
        job.log("a\nb\u2028c\u2029d\x85e\x1cf")

    assert lines(completed(function))[0]["message"] == "a\nb\u2028c\u2029d\x85e\x1cf"


def test_the_log_of_a_job_made_by_hand_is_discarded() -> None:
    book, job = AttemptLog(bytes_max=1000, now=lambda: NOW), a_job()

    job.log("before it runs")
    job._log = book
    job.log("while it runs", rows=3)

    assert "before it runs" not in book.text()
    assert '"while it runs"' in book.text()

"""What authors rely on: names, jobs, items, outcomes, errors and the retries inside an attempt."""

import errno
import io
import json
import math
import urllib.error
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterator
from email.message import Message
from enum import IntEnum, StrEnum
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stateward.workers
from stateward.core.errors import (
    FatalFailure,
    StageFailure,
    TransientFailure,
    UnknownName,
)
from stateward.core.model import Fields
from stateward.workers import sdk
from stateward.workers.sdk import (
    CHUNK_BYTES_MAX,
    CHUNK_ITEMS_MAX,
    Completed,
    Failed,
    Job,
    Limits,
    LogBook,
    Outcome,
    Result,
    Runner,
    RunnerFunction,
    empty_folder,
    registered,
    run_runner,
    runner,
)

NOW = 1_700_000_000_000_000


def a_job(**facts: Any) -> Job:  # noqa: ANN401
    return Job(**{"record_id": "UL_1", "stage": "parse", **facts})


def run(function: RunnerFunction, job: Job | None = None, **limits: Any) -> Result:  # noqa: ANN401
    return run_runner(
        Runner("upload.parse", function),
        job or a_job(),
        limits=Limits(**limits),
        sleep=lambda seconds: None,
        now=lambda: NOW,
    )


def completed(function: RunnerFunction, **limits: Any) -> Completed:  # noqa: ANN401
    result = run(function, **limits)
    assert isinstance(result, Completed), result
    return result


def failed(function: RunnerFunction, **limits: Any) -> Failed:  # noqa: ANN401
    result = run(function, **limits)
    assert isinstance(result, Failed), result
    return result


def items(result: Result) -> list[dict[str, Any]]:
    assert isinstance(result, Completed), result
    return [item for chunk in result.chunks for item in json.loads(chunk.data)]


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.log.splitlines()]


def raising(error: BaseException) -> RunnerFunction:
    def function(job: Job) -> None:
        raise error

    return function


# Names


@pytest.fixture
def no_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_RUNNERS", {})


def parse(job: Job) -> None: ...


def parse_again(job: Job) -> None: ...


@pytest.mark.usefixtures("no_runners")
def test_a_function_is_registered_and_stays_what_it_is() -> None:
    assert runner("upload.parse")(parse) is parse

    assert registered() == {"upload.parse": Runner("upload.parse", parse)}


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

    assert registered()["upload.parse"].function is as_script


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

    assert items(completed(registered()["upload.parse"].function)) == [{"ok": True}]


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
    with pytest.raises(UnknownName, match="no earlier stage 'orc'; there are: ocr"):
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


# What a runner gives back


def nothing(job: Job) -> None:
    return None


def one(job: Job) -> Fields:
    return {"a": 1}


def several(job: Job) -> list[Fields]:
    return [{"a": 1}, {"a": 2}]


def iterator(job: Job) -> Iterator[Fields]:
    return iter([{"a": 1}, {"a": 2}])


def generator(job: Job) -> Iterator[Fields]:
    yield {"a": 1}
    yield {"a": 2}


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (nothing, []),
        (one, [{"a": 1}]),
        (several, [{"a": 1}, {"a": 2}]),
        (iterator, [{"a": 1}, {"a": 2}]),
        (generator, [{"a": 1}, {"a": 2}]),
    ],
)
def test_items_may_be_yielded_or_returned(
    function: RunnerFunction, found: list[dict[str, int]]
) -> None:
    result = completed(function)

    assert items(result) == found
    assert (result.outcome, result.facts, result.count) == ("done", {}, len(found))


def test_an_outcome_names_where_it_leads() -> None:
    result = completed(lambda job: Outcome("review", facts={"score": 71}, items=[{"a": 1}]))

    assert (result.outcome, result.facts) == ("review", {"score": 71})
    assert items(result) == [{"a": 1}]


def test_a_generator_may_end_with_an_outcome() -> None:
    def function(job: Job) -> Generator[Fields, None, Outcome]:
        yield {"a": 1}
        return Outcome(label="review", items=({"a": number} for number in (2, 3)))

    result = completed(function)

    assert result.outcome == "review"
    assert items(result) == [{"a": 1}, {"a": 2}, {"a": 3}]


def an_outcome(**parts: Any) -> Outcome:  # noqa: ANN401
    return Outcome(**parts)


async def waiting(job: Job) -> None: ...


def generator_of_number(job: Job) -> Generator[Fields, None, int]:
    yield {}
    return 5


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda job: 5, "what the runner gave is of type int; a runner is a plain function"),
        (lambda job: "text", "what the runner gave is of type str"),
        (lambda job: an_outcome(items=5), "what the runner gave is of type int"),
        (
            generator_of_number,
            "what the generator returned is of type int; it may return an Outcome",
        ),
        (lambda job: Outcome(""), "its label must be 1 to 100 printable characters"),
        (lambda job: Outcome("x" * 101), "its label must be"),
        (lambda job: Outcome("a\x00"), "its label must be"),
        (lambda job: an_outcome(label=5), "its label must be"),
        (lambda job: an_outcome(facts=[1]), "facts is of type list, not a dict"),
        (lambda job: Outcome(facts={"a": {"b": math.nan}}), "facts.a.b is nan"),
        (lambda job: Outcome(facts={"a": "x" * 70_000}), "its facts have more than 65536 bytes"),
    ],
)
def test_what_is_no_outcome_is_refused(function: Any, message: str) -> None:  # noqa: ANN401
    result = failed(function)

    assert result.code == "BAD_OUTCOME"
    assert message in result.message
    assert not result.is_retryable


@pytest.mark.filterwarnings("ignore:coroutine")
def test_an_async_function_is_not_a_runner() -> None:
    assert "is of type coroutine; a runner is a plain function" in failed(waiting).message


class Colour(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Real(float):
    pass


def test_relatives_of_json_values_are_taken_for_what_they_are() -> None:
    item = {
        "enum": Colour.RED, "number": Number.ONE, "text": Text("t"), "real": Real(1.5),
        "ordered": OrderedDict(a=1), "counter": Counter("aa"), "tuple": (1, [2]), "none": None,
        "big": 2**70, Text("key"): True,
    }  # fmt: skip

    result = completed(lambda job: item)

    assert items(result) == [{
        "enum": "red", "number": 1, "text": "t", "real": 1.5, "ordered": {"a": 1},
        "counter": {"a": 2}, "tuple": [1, [2]], "none": None, "big": 2**70, "key": True,
    }]  # fmt: skip


def test_a_number_without_end_is_refused() -> None:
    result = failed(lambda job: {"number": 10**5000})

    assert result.code == "BAD_ITEM"
    assert result.message.startswith("item 1 cannot be written as JSON: ValueError")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"a": b"x"}, "item 1.a is of type bytes, which JSON has no form for"),
        ({"a": {1, 2}}, "item 1.a is of type set"),
        ({"a": [{"b": object()}]}, "item 1.a[0].b is of type object"),
        ({None: 1}, "item 1 has a key that is of type NoneType; keys are text"),
        ({"k" * 500: math.inf}, "item 1." + "k" * 60 + " is inf"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(item: object, message: str) -> None:
    result = failed(lambda job: [item])

    assert result.code == "BAD_ITEM"
    assert message in result.message


def test_the_limits_of_items_hold() -> None:
    many = failed(lambda job: ({} for _ in range(11)), items_max=10)
    large = failed(lambda job: [{}, {"a": "x" * 100}], item_bytes_max=100)
    all_of_them = failed(lambda job: [{"a": "x" * 90}] * 11, items_bytes_max=1000)

    assert (many.code, many.message) == (
        "TOO_MANY_ITEMS",
        "more than 10 items; produce less, or raise the setting worker.items_max",
    )
    assert large.code == "ITEM_TOO_LARGE"
    assert large.message.startswith("item 2 has more than 100 bytes; ")
    assert all_of_them.code == "OUTPUT_TOO_LARGE"
    assert all_of_them.message.startswith("all items have more than 1000 bytes; ")


def test_exactly_the_limit_is_allowed() -> None:
    assert completed(lambda job: [{}] * 10, items_max=10, item_bytes_max=2).count == 10


def test_chunks_are_bounded() -> None:
    small = completed(lambda job: ({"n": n} for n in range(1201)))
    large = completed(lambda job: [{"a": "x" * 100_000}] * 7)

    assert [chunk.count for chunk in small.chunks] == [CHUNK_ITEMS_MAX, CHUNK_ITEMS_MAX, 201]
    assert [chunk.count for chunk in large.chunks] == [2, 2, 2, 1]
    assert max(len(chunk.data) for chunk in large.chunks) <= CHUNK_BYTES_MAX


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(), JSON_VALUES, max_size=5), max_size=10))
def test_items_come_out_as_they_went_in(given_items: list[dict[str, Any]]) -> None:
    result = completed(lambda job: given_items)

    assert items(result) == sdk.cleaned(given_items)
    assert result.count == len(given_items)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.binary() | st.complex_numbers()
    | st.text(st.characters(exclude_categories=())) | st.dates(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(ANYTHING)
def test_whatever_a_runner_gives_back_there_is_one_result(value: object) -> None:
    result = run(lambda job: value)

    if isinstance(result, Completed):
        assert len(items(result)) == result.count
    else:
        assert result.code in {"BAD_ITEM", "BAD_OUTCOME"}
    result.log.encode()


@given(ANYTHING, st.text(st.characters(exclude_categories=())))
def test_whatever_is_logged_there_are_lines(value: object, message: str) -> None:
    def function(job: Job) -> None:
        job.log(message, value=value, message=value, at=value)
        raise ValueError(message)

    result = run(function)

    assert [line["level"] for line in lines(result)] == ["info", "error"]
    assert "\x00" not in result.log
    result.log.encode()


# Errors


class Odd(Exception):
    def __str__(self) -> str:
        raise KeyError

    @property
    def status_code(self) -> int:
        raise KeyError


@pytest.mark.parametrize(
    ("error", "code", "message", "is_retryable"),
    [
        (StageFailure("no table", code="NO_TABLE"), "NO_TABLE", "no table", True),
        (FatalFailure("encrypted"), "STAGE_FAILED", "encrypted", False),
        (TransientFailure("busy", code="BUSY"), "BUSY", "busy", True),
        (TypeError("a\x00b"), "EXCEPTION", "TypeError: a\ufffdb", True),
        (KeyError(), "EXCEPTION", "KeyError", True),
        (Odd(), "EXCEPTION", "Odd: (its text cannot be shown)", True),
        (MemoryError(), "MEMORY_LIMIT", "ran out of memory; the limit is 7 bytes", True),
        (OSError(errno.ENOMEM, "x"), "MEMORY_LIMIT", "ran out of memory", True),
        (OSError(errno.EFBIG, "x"), "FILE_LIMIT", "wrote a file of more than 8 bytes", True),
        (
            SystemExit(3),
            "RUNNER_EXITED",
            "the runner left with SystemExit: 3; it must return",
            True,
        ),
        (KeyboardInterrupt(), "RUNNER_EXITED", "the runner left with KeyboardInterrupt; it", True),
    ],
)
def test_an_error_becomes_a_failure(
    error: BaseException, code: str, message: str, *, is_retryable: bool
) -> None:
    result = failed(raising(error), memory_bytes=7, file_bytes=8, transient_attempts=1)

    assert result.code == code
    assert result.message.startswith(message)
    assert result.is_retryable == is_retryable
    last = lines(result)[-1]
    assert (last["level"], last["code"]) == ("error", code)
    assert "in function" in last["traceback"]
    assert sdk.__file__ not in last["traceback"]


def test_a_message_and_a_traceback_are_bounded() -> None:
    def deep(depth: int) -> None:
        if depth == 0:
            raise ValueError("x" * 100_000)
        deep(depth - 1)

    result = failed(lambda job: deep(300), message_chars_max=50)

    assert len(result.message) == 50
    assert result.message.endswith("…")
    assert len(lines(result)[-1]["traceback"]) <= sdk.TRACEBACK_CHARS_MAX + 1


def test_an_error_after_some_items_leaves_none() -> None:
    def function(job: Job) -> Iterator[Fields]:
        yield {"a": 1}
        raise ValueError("page 2")

    assert failed(function).message == "ValueError: page 2"


# Errors that pass by themselves


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class HTTPStatusError(Exception):
    def __init__(self, status_code: int) -> None:
        self.response = Response(status_code)


class APIError(Exception):
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class TransportError(Exception):
    """As httpx has one."""


class ConnectTimeout(TransportError): ...


class Throttled(FatalFailure):
    status_code = 429


def url_error(status: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://x", status, "x", Message(), io.BytesIO())


@pytest.mark.parametrize(
    ("error", "is_transient"),
    [
        (TransientFailure("busy"), True),
        (ConnectionResetError(), True),
        (BrokenPipeError(), True),
        (TimeoutError(), True),
        (OSError(errno.EIO, "x"), True),
        (OSError(errno.EAGAIN, "x"), True),
        (OSError(errno.EHOSTUNREACH, "x"), True),
        (urllib.error.URLError(ConnectionRefusedError()), True),
        (urllib.error.URLError(OSError(errno.ENETUNREACH, "x")), True),
        (url_error(503), True),
        (HTTPStatusError(429), True),
        (HTTPStatusError(500), True),
        (APIError(599), True),
        (ConnectTimeout(), True),
        (url_error(404), False),
        (urllib.error.URLError("unknown url type"), False),
        (HTTPStatusError(404), False),
        (APIError(400), False),
        (FileNotFoundError(errno.ENOENT, "x"), False),
        (PermissionError(errno.EACCES, "x"), False),
        (StageFailure("no table"), False),
        (Throttled("used up"), False),
        (ValueError("x"), False),
        (Odd(), False),
        (MemoryError(), False),
        (SystemExit(), False),
    ],
)
def test_only_what_passes_by_itself_is_tried_again(
    error: BaseException, *, is_transient: bool
) -> None:
    tries = []

    def function(job: Job) -> None:
        tries.append(1)
        raise error

    failed(function)

    assert len(tries) == (3 if is_transient else 1)


def test_a_retry_waits_longer_each_time_and_drops_what_came_before() -> None:
    waits: list[float] = []
    job = a_job()

    def function(job: Job) -> Iterator[Fields]:
        assert not list(job.scratch.iterdir())
        (job.scratch / "half").write_text("x")
        yield {"try": len(waits) + 1}
        if len(waits) < 2:
            raise ConnectionError("reset")

    result = run_runner(
        Runner("upload.parse", function),
        job,
        limits=Limits(transient_backoff_s=0.5),
        sleep=waits.append,
        now=lambda: NOW,
    )

    assert items(result) == [{"try": 3}]
    assert waits == [0.5, 1.0]
    assert [(line["level"], line["message"]) for line in lines(result)] == [
        ("warning", "try 1 of 3 failed, the next one is in 0.5 s: ConnectionError: reset"),
        ("warning", "try 2 of 3 failed, the next one is in 1 s: ConnectionError: reset"),
    ]


def test_no_retry_is_begun_that_the_deadline_would_cut_off() -> None:
    job = a_job(deadline=0.0)

    result = run(raising(ConnectionError("reset")), job)

    assert isinstance(result, Failed)
    assert result.message == "ConnectionError: reset"
    assert len(lines(result)) == 1
    assert job.remaining_s is not None
    assert job.remaining_s < 0


def test_a_single_attempt_may_be_all_there_is() -> None:
    result = failed(raising(ConnectionError("reset")), transient_attempts=1)

    assert len(lines(result)) == 1


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
    assert third["cut"].startswith("facts that cannot be written")
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
    book = LogBook(bytes_max=10, now=lambda: NOW)

    book.write("info", "x", {})

    assert book.text() == ""


def test_each_line_is_one_line_for_every_reader() -> None:
    def function(job: Job) -> None:
        job.log("a\nb\u2028c\u2029d\x85e\x1cf")

    assert lines(completed(function))[0]["message"] == "a\nb\u2028c\u2029d\x85e\x1cf"


def test_a_job_made_by_hand_can_log() -> None:
    a_job().log("nobody reads it")

"""Whatever a runner does, one clear result comes of it, and the next job works."""

import json
import os
import selectors
import signal
import socket
from pathlib import Path

import pytest

from stateward.workers import processes, sandbox
from stateward.workers.confinement import Grants
from stateward.workers.results import CHUNK_ITEMS_MAX
from stateward.workers.sdk import Completed, Failed, Limits
from tests.waiting import wait_until
from tests.workers.children import (
    MIB,
    ChildSlot,
    an_order,
    items,
    lines,
    much_later,
    only_item,
    said,
    wait_for,
    wait_for_log,
    wait_until_dead,
    wait_until_loaded,
)

# What a good runner gets


def test_a_job_arrives_as_it_was_ordered(slot: ChildSlot, tmp_path: Path) -> None:
    artifact = tmp_path / "artifact"
    artifact.write_text("a line\r\n")

    result = slot.completes(
        "good.echo", retry_count=2, labels={"source": "bank"}, artifact_path=str(artifact)
    )

    item = only_item(result)
    del item["pid"]
    assert item == {
        "record_id": "UL_1", "stage": "parse", "attempt": 7, "retry_count": 2,
        "labels": {"source": "bank"}, "text": "a line\r\n", "seconds": 30,
    }  # fmt: skip
    (line,) = lines(result)
    # When it was written, which is before it was read.
    assert "2023-11-14T22:13:00" < line.pop("at") <= "2023-11-14T22:13:20.000000Z"
    assert line == {"level": "info", "message": "reading", "bytes": 8}


def test_a_warm_child_does_job_after_job_until_its_count_is_reached(slot: ChildSlot) -> None:
    slot.limits = Limits(jobs_per_child=2)

    pids = [only_item(slot.run("good.echo"))["pid"] for _ in range(4)]

    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_what_libraries_keep_is_not_taken_from_the_memory_of_the_next_documents(
    slot: ChildSlot,
) -> None:
    slot.limits = Limits(memory_bytes=256 * 1024 * 1024)

    pids = [only_item(slot.run("good.keeps"))["pid"] for _ in range(3)]

    assert len(set(pids)) == 3


def test_large_inputs_and_outputs_go_through(slot: ChildSlot) -> None:
    chunk = json.dumps([{"number": number, "text": "ü" * 500} for number in range(200)])
    others = {"ocr": ['[{"not":"these"}]'], "parse": [chunk] * 100, "empty": []}

    result = slot.completes("good.copy", items=others, timeout_s=240.0)

    assert result.count == 20_000
    assert items(result)[:200] == json.loads(chunk)
    assert max(chunk.count for chunk in result.chunks) <= CHUNK_ITEMS_MAX


def test_starting_a_job_with_large_inputs_does_not_wait_for_the_child(slot: ChildSlot) -> None:
    child = slot.idle_child()
    slot.works()

    child.start(an_order("good.copy", items={"parse": ['[{"text":"' + "x" * 1000 + '"}]'] * 5000}))

    assert child.wants_write
    assert (
        child.filenos()[0],
        selectors.EVENT_READ | selectors.EVENT_WRITE,
    ) in child.watched()
    result = wait_for(child)
    assert isinstance(result, Completed)
    assert result.count == 5000
    assert not child.wants_write


def test_the_scratch_folder_is_empty_again_for_the_next_job(slot: ChildSlot) -> None:
    slot.options = {"grants": Grants(programs=("/bin/echo",))}

    result = slot.completes("good.scratch")

    assert only_item(result) == {"found": ["deep", "here"], "code": 0}
    assert only_item(slot.run("good.look"))["found"] == []


def test_a_job_sees_nothing_of_the_worker(slot: ChildSlot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEWARD_SECRET", "xyz")

    seen = only_item(slot.completes("good.look"))

    ours = {"MALLOC_ARENA_MAX", "OPENBLAS_NUM_THREADS"}
    assert ours <= set(seen["environment"]) <= {"HOME", "TMPDIR", "LC_CTYPE", *ours}
    assert seen["folder"] == seen["scratch"]
    assert seen["stdin"] == ""
    assert seen["umask"] == 0o077
    assert seen["session"] != os.getsid(0)
    # 0, 1, 2, the channel, the permits, the lines, the size of this process itself, and the folder being listed.
    assert len(seen["fds"]) <= 8
    assert seen["status"]["NoNewPrivs"] == "1"
    assert seen["limits"] == {
        "RLIMIT_CORE": [0, 0],
        "RLIMIT_FSIZE": [slot.limits.file_bytes] * 2,
        "RLIMIT_NOFILE": [slot.limits.open_files] * 2,
    }


# What a runner prints and logs


def test_printed_garbage_becomes_log_lines(slot: ChildSlot) -> None:
    result = slot.completes("bad.garbage")

    assert only_item(result) == {"ok": True}
    assert "to the other one" in said(result, "output")
    assert "\\ud800 printed" in said(result, "output")


def test_a_flood_of_output_is_cut_and_leaves_space_for_the_log(slot: ChildSlot) -> None:
    result = slot.completes("bad.flood")

    assert said(result, "info") == ["said after the flood"]
    (closing,) = said(result, "warning")
    assert closing.startswith("the log is full: ")
    assert int(closing.split()[4]) > 90_000_000


def test_a_flood_of_log_lines_is_cut(slot: ChildSlot) -> None:
    result = slot.completes("bad.log")

    first, *_, last = lines(result)
    assert first["number"] == 0
    assert first["at_"] == "mine"
    assert last["message"].startswith("the log is full: ")


# Ends of a process


@pytest.mark.parametrize(
    ("runner", "code", "message"),
    [
        ("bad.exit", "RUNNER_EXITED", "SystemExit: goodbye"),
        ("bad.os_exit", "RUNNER_EXITED", "exited with code 3; a runner returns or raises"),
        ("bad.kill_self", "RUNNER_DIED", "killed by SIGKILL; is the machine out of memory?"),
        ("bad.segfault", "RUNNER_DIED", "killed by SIGSEGV"),
        ("bad.memory", "MEMORY_LIMIT", "ran out of memory; the limit is"),
        ("bad.memory_crumbs", "MEMORY_LIMIT", "ran out of memory; the limit is"),
        ("bad.memory_map", "MEMORY_LIMIT", "ran out of memory; the limit is"),
        ("bad.close_channel", "RUNNER_BROKE_PROTOCOL", "broke the channel"),
        ("bad.close_all", "RUNNER_BROKE_PROTOCOL", "closed the channel to its worker"),
    ],
)
def test_a_process_that_ends_says_how(
    slot: ChildSlot, runner: str, code: str, message: str
) -> None:
    result = slot.fails(runner)

    assert result.code == code
    assert message in result.message
    assert result.is_retryable
    assert len(slot.spawned) == 2


def test_a_crash_leaves_its_stack_in_the_log(slot: ChildSlot) -> None:
    result = slot.fails("bad.segfault")

    output = "\n".join(said(result, "output"))
    assert "Segmentation fault" in output
    assert "hostile.py" in output
    assert "in segfault" in output


@pytest.mark.long
def test_a_runner_that_uses_up_its_processor_time_is_ended(slot: ChildSlot) -> None:
    slot.limits = Limits(cpu_s=1)

    result = slot.fails("bad.spin", timeout_s=240.0)

    assert result.code == "CPU_LIMIT"
    assert "processor time of 1 s" in result.message
    assert "in spin" in "\n".join(said(result, "output"))


@pytest.mark.parametrize("runner", ["bad.sleep", "bad.spin_deaf", "bad.stop"])
def test_a_runner_that_takes_too_long_is_killed(slot: ChildSlot, runner: str) -> None:
    result = slot.fails(runner, timeout_s=0.5, timeout_message="Parsing timeout (0.5s)")

    assert result.code == "TIMEOUT"
    assert result.message == "Parsing timeout (0.5s)"
    assert result.is_retryable


def test_a_job_that_hangs_leaves_its_log_and_its_stack(slot: ChildSlot) -> None:
    slot.options = {"clock": lambda: 0.0}  # the child's own clock runs, and it prints its stack
    child = slot.idle_child()
    child.start(an_order("bad.sleep", timeout_s=1.0))
    wait_for_log(child, "in sleep_for_ever")

    result = child.expire(much_later())

    assert isinstance(result, Failed)
    assert result.code == "TIMEOUT"
    assert said(result, "info") == ["about to sleep"]
    assert "in sleep_for_ever" in "\n".join(said(result, "output"))


def test_a_supervisor_that_is_killed_takes_its_runner_along(slot: ChildSlot) -> None:
    slot.options = {"landlock": False}

    result = slot.fails("bad.kill_parents")

    assert result.code == "RUNNER_DIED"


def test_a_child_that_died_between_jobs_is_found_dead(slot: ChildSlot) -> None:
    slot.works()
    child = slot.idle_child()
    (runner,) = processes.descendants(child.pid)

    os.kill(runner, signal.SIGKILL)

    wait_until_dead(child)
    assert not child.is_idle
    with pytest.raises(RuntimeError, match="not idle"):
        child.start(an_order("good.echo"))


# Items


@pytest.mark.parametrize(
    ("runner", "code", "message"),
    [
        ("bad.million", "TOO_MANY_ITEMS", "more than 200000 items; produce less, or raise"),
        ("bad.endless", "OUTPUT_TOO_LARGE", "raise the setting worker.items_bytes_max"),
        ("bad.large", "ITEM_TOO_LARGE", "item 1 has more than 1048576 bytes"),
        ("bad.outcome", "BAD_OUTCOME", "facts.confidence is nan"),
    ],
)
def test_too_much_is_refused(slot: ChildSlot, runner: str, code: str, message: str) -> None:
    slot.limits = Limits(items_max=200_000, items_bytes_max=20 * MIB)

    result = slot.fails(runner)

    assert result.code == code
    assert message in result.message
    assert not result.is_retryable
    assert len(slot.spawned) == 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("object", "item 2.rows[0].amount is of type Decimal, which JSON has no form for"),
        ("nan", "item 2.amount is nan, which JSON cannot say; give null"),
        ("infinity", "item 2.amounts[1] is -inf, which JSON cannot say; give null"),
        ("key", "item 2.by_line has a key that is of type int; keys are text"),
        ("list", "item 2 is of type list, not a dict"),
        ("text", "item 2 is of type str, not a dict"),
        ("deep", " is nested more than 100 deep"),
        ("cycle", " is nested more than 100 deep"),
    ],
)
def test_what_is_not_json_is_refused(slot: ChildSlot, kind: str, message: str) -> None:
    result = slot.fails("bad.item", labels={"kind": kind})

    assert result.code == "BAD_ITEM"
    assert message in result.message


def test_text_that_no_store_keeps_is_cleaned_and_said_so(slot: ChildSlot) -> None:
    result = slot.completes("bad.surrogates")

    assert items(result) == [
        {"text": "a?b", "key?": [{"nul": "a\ufffdb"}]},
        {"text": "fine", "path": "C:\\u0000"},
    ]
    (warning,) = said(result, "warning")
    assert warning.startswith("NUL or lone surrogates were replaced in 1 items")


# Errors


@pytest.mark.parametrize(
    ("runner", "code", "message"),
    [
        ("bad.mute", "EXCEPTION", "Mute: (its text cannot be shown)"),
        ("bad.recursion", "EXCEPTION", "RecursionError: maximum recursion depth exceeded"),
        ("bad.fatal", "ENCRYPTED", "page 3 is encrypted"),
        ("bad.many_files", "EXCEPTION", "Too many open files"),
        ("bad.file", "FILE_LIMIT", "wrote a file of more than 3000000 bytes"),
    ],
)
def test_an_error_is_told(slot: ChildSlot, runner: str, code: str, message: str) -> None:
    slot.limits = Limits(file_bytes=3_000_000)

    result = slot.fails(runner)

    assert result.code == code
    assert message in result.message
    (line,) = [line for line in lines(result) if line["level"] == "error"]
    assert line["code"] == code
    assert "hostile.py" in line["traceback"]


def test_a_long_message_is_cut(slot: ChildSlot) -> None:
    result = slot.fails("bad.chatty")

    assert result.message.startswith("ValueError: ?\ufffdxxx")
    assert len(result.message) == slot.limits.message_chars_max


def test_a_hostile_scratch_folder_is_emptied(slot: ChildSlot, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "kept").write_text("x")

    slot.completes("bad.deep_folders", labels={"folder": str(there)})

    assert only_item(slot.run("good.look"))["found"] == []
    assert (there / "kept").exists()


# Time


def test_time_is_what_the_clock_says(slot: ChildSlot) -> None:
    times = [0.0]
    slot.options = {"clock": lambda: times[-1]}
    child = slot.idle_child()
    child.start(an_order("bad.sleep", timeout_s=100.0))
    wait_until_loaded(child)

    assert child.deadline == sandbox.CHECK_S
    assert child.expire(1.0) is None
    # Later by as much as the look at its folder took, many times over.
    assert child.deadline is not None
    assert child.deadline >= 1.0 + sandbox.CHECK_S
    times.append(100.0)
    result = child.expire()

    assert isinstance(result, Failed)
    assert result.code == "TIMEOUT"
    assert child.expire() is None
    assert child.on_ready() is None
    assert child.filenos() == ()


def received(wire: socket.socket) -> bytes:
    """What the child has sent and nothing has read yet."""
    try:
        return wire.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return b""


def test_a_result_that_is_there_counts_even_after_the_deadline(slot: ChildSlot) -> None:
    child = slot.idle_child()
    wait_until_loaded(child)
    child.start(an_order("good.echo", timeout_s=30))
    with socket.socket(fileno=os.dup(child.filenos()[0])) as wire:
        wait_until(lambda: b"done" in received(wire))

    result = child.expire(much_later())

    assert isinstance(result, Completed)

"""How commands end: every foreseen error is one sentence and a code, never a traceback."""

import errno
import json
import os
import resource
import sys
from pathlib import Path

import click
import pytest

from stateward import __version__
from stateward.cli.exit_codes import Exit, problem
from stateward.core import errors
from tests.cli.shell import Shell, arguments, run

EXPECTED: dict[type[Exception], Exit] = {
    errors.StatewardError: Exit.REFUSED,
    errors.DeclarationError: Exit.REFUSED,
    errors.UnknownName: Exit.UNKNOWN,
    errors.InvalidRequest: Exit.REFUSED,
    errors.MissingLabels: Exit.REFUSED,
    errors.InvalidTransition: Exit.REFUSED,
    errors.ConcurrentModification: Exit.CONFLICT,
    errors.ReviewTaken: Exit.CONFLICT,
    errors.ReviewRefused: Exit.REFUSED,
    errors.InvalidCorrection: Exit.REFUSED,
    errors.StoreError: Exit.STORE,
    errors.StoreUnreachable: Exit.STORE,
    errors.StoreOvertaken: Exit.STORE,
    errors.ArtifactsUnreachable: Exit.STORE,
    errors.StoreFull: Exit.DISK_FULL,
    errors.StoreBroken: Exit.DISK_FULL,
    errors.StoreMismatch: Exit.STORE,
    errors.StoreOutdated: Exit.STORE,
    errors.SecretUnreadable: Exit.STORE,
    errors.TransportError: Exit.STORE,
    errors.TransportUnreachable: Exit.STORE,
    errors.TransportFull: Exit.STORE,
    errors.ArtifactError: Exit.STORE,
    errors.ArtifactChanged: Exit.STORE,
    errors.LedgerError: Exit.REFUSED,
    errors.LedgerLocked: Exit.CONFLICT,
    errors.LedgerDamaged: Exit.REFUSED,
    errors.LedgerMismatch: Exit.REFUSED,
    errors.LedgerPoisoned: Exit.DISK_FULL,
    errors.StageFailure: Exit.REFUSED,
    errors.TransientFailure: Exit.REFUSED,
    errors.FatalFailure: Exit.REFUSED,
    errors.MissingExtra: Exit.REFUSED,
}


def an_error(kind: type[Exception]) -> Exception:
    fault = errors.Fault(source="a.yaml", line=3, path="states", sentence="is wrong")
    made: dict[type[Exception], Exception] = {
        errors.DeclarationError: errors.DeclarationError([fault]),
        errors.UnknownName: errors.UnknownName("record", "x"),
        errors.InvalidTransition: errors.InvalidTransition(
            "x", expected="retry", found="done", allowed=["error"]
        ),
        errors.ConcurrentModification: errors.ConcurrentModification("x", expected=3),
        errors.ReviewTaken: errors.ReviewTaken(
            "x", by="person:ada", sentence="is taken", until=None
        ),
        errors.MissingExtra: errors.MissingExtra("lxml", ["statements"]),
        errors.MissingLabels: errors.MissingLabels("A part", {"part_number": "names it"}),
        errors.InvalidCorrection: errors.InvalidCorrection("x", [("provider", "is empty")]),
        errors.LedgerLocked: errors.LedgerLocked("ledger", pid=7, host="here"),
        errors.LedgerDamaged: errors.LedgerDamaged(
            [errors.Damage(file="delta-2025-10-04.jsonl", byte=8, seq=2, sentence="is damaged")]
        ),
    }
    return made.get(kind) or kind("a sentence")


def test_the_table_names_every_error_there_is() -> None:
    kinds = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.StatewardError)
    }

    assert kinds == EXPECTED.keys()


@pytest.mark.parametrize("kind", EXPECTED)
def test_every_error_has_its_exit_code(kind: type[Exception]) -> None:
    found = problem(an_error(kind))

    assert found.exit is EXPECTED[kind]
    assert found.message
    assert json.dumps(found.code)


def test_a_refused_move_says_what_was_expected_found_and_allowed() -> None:
    details = problem(an_error(errors.InvalidTransition)).plain()

    assert details["code"] == "invalid_transition"
    assert (details["expected"], details["found"], details["allowed"]) == (
        "retry",
        "done",
        ["error"],
    )


def test_a_failing_disk_and_a_refused_access_are_sentences_too() -> None:
    full = problem(OSError(errno.ENOSPC, "No space left on device"))
    closed = problem(PermissionError(errno.EACCES, "Permission denied", "/x/y"))

    assert (full.exit, closed.exit) == (Exit.DISK_FULL, Exit.REFUSED)
    assert closed.message == "cannot use /x/y: Permission denied"


def test_other_refusals_of_click_are_ours() -> None:
    assert problem(click.ClickException("no")).exit is Exit.REFUSED
    assert problem(click.Abort()).exit is Exit.INTERRUPTED
    assert problem(click.UsageError("no")).message == "no; see stateward --help"


def test_a_bug_is_a_sentence_and_a_file_with_the_traceback(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("stateward.app.load_settings", broken)

    done = shell("list", "--json")

    error = json.loads(done.stderr)["error"]
    assert done.exit_code == Exit.INTERNAL
    assert "ZeroDivisionError: by nothing" in error["message"]
    assert "in broken" in Path(error["traceback"]).read_text()
    assert Path(error["traceback"]).stat().st_mode & 0o077 == 0
    Path(error["traceback"]).unlink()


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (["nonsense"], Exit.USAGE, "there is no command 'nonsense'; see"),
        (["lst"], Exit.USAGE, "there is no command 'lst'; did you mean list? see"),
        (["list", "--nonsense"], Exit.USAGE, "No such option"),
        (["--profile", "huge", "list"], Exit.USAGE, "'huge' is not one of"),
        (["--data", "", "list"], Exit.USAGE, "cannot be empty"),
        (["--data", "~/x", "list"], Exit.REFUSED, "~ is not expanded"),
        (["--config", "/nowhere.yaml", "list"], Exit.REFUSED, "there is no such settings file"),
        (["status", "UL_nobody"], Exit.UNKNOWN, "there is no record 'UL_nobody'"),
        (["history", "UL_nobody"], Exit.UNKNOWN, "there is no record"),
        (["explain", "UL_nobody"], Exit.UNKNOWN, "there is no record"),
        (["logs", "UL_nobody"], Exit.UNKNOWN, "there is no record"),
        (["items", "UL_nobody"], Exit.UNKNOWN, "there is no record"),
        (["retry", "UL_nobody"], Exit.UNKNOWN, "there is no record"),
        (["list", "--status", "errors"], Exit.UNKNOWN, "there is no status 'errors'"),
        (["list", "--machine", "x"], Exit.UNKNOWN, "there is no machine 'x'"),
        (["errors", "--machine", "x"], Exit.UNKNOWN, "there is no machine 'x'"),
        (["list", "color:red"], Exit.REFUSED, "there is no key 'color'"),
        (["pause", "x"], Exit.UNKNOWN, "there is no machine 'x'"),
        (["pause", "upload", "--stage", "x"], Exit.UNKNOWN, "there is no stage 'x'"),
        (["machine", "show", "x"], Exit.UNKNOWN, "there is no machine 'x'"),
        (["submit", "f", "--machine", "x"], Exit.UNKNOWN, "there is no machine 'x'"),
        (["submit", "f", "--source-type", "x"], Exit.UNKNOWN, "there is no source type 'x'"),
        (["submit", "f", "--priority", "11"], Exit.UNKNOWN, "there is no priority '11'"),
        (["submit", "f", "--priority", "\uff11"], Exit.UNKNOWN, "there is no priority"),
        (["submit", "f", "--label", "x"], Exit.USAGE, "write it as key=value"),
        (["submit", "f", "g", "--name", "x"], Exit.USAGE, "--name names one document"),
        (["retry"], Exit.USAGE, "name records or give --query"),
        (["retry", "x", "--query", "y"], Exit.USAGE, "not both"),
        (["export", "history", "--out", "/proc/x"], Exit.REFUSED, "/proc/x"),
        (["key", "create", "x"], Exit.USAGE, "'--role': one of viewer, submitter, reviewer,"),
        (["list", "--status", "normalised"], Exit.UNKNOWN, "did you mean normalized"),
        (["verify", "/nowhere"], Exit.REFUSED, "/nowhere is not there"),
        (["machine", "graph", "upload", "--out", "/nowhere/x"], Exit.REFUSED, "/nowhere/x"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_on_stderr(
    shell: Shell, args: list[str], code: Exit, word: str
) -> None:
    done = shell(*args)
    as_json = shell(*args, "--json")

    assert (done.exit_code, as_json.exit_code) == (code, code)
    assert done.stdout == as_json.stdout == ""
    assert done.stderr.startswith("stateward: ")
    assert word in done.stderr
    assert done.stderr.count("\n") == 1
    assert word in json.loads(as_json.stderr)["error"]["message"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["submit", "/nowhere/a.csv"], Exit.REFUSED),
        (["machine", "check", "/nowhere/a.yaml"], Exit.FOUND_PROBLEMS),
    ],
)
def test_a_file_that_is_not_there_is_named_once(shell: Shell, args: list[str], code: Exit) -> None:
    done = shell(*args)

    assert done.exit_code == code
    assert (done.stdout + done.stderr).count(args[-1]) == 1
    assert "there is no such file" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1, 2", ":1"),
        ("worker: {procesess: 3}", "processes"),
        ("worker:\n  processes: many", ":2"),
        ("- a\n- b", "mapping"),
        ("\x00\x01", ":1"),
    ],
)
def test_a_config_that_is_wrong_is_refused_with_its_line(
    shell: Shell, tmp_path: Path, text: str, sentence: str
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(text)

    done = shell("list", "--config", str(config))

    assert done.exit_code == Exit.REFUSED
    assert str(config) in done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_every_fault_of_a_config_has_a_line_of_its_own(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("worker: {processes: 0}\nlimits: {page_rows_max: -1}\n")

    done = shell("--config", str(config), "list")
    as_json = shell("--config", str(config), "list", "--json")

    assert [line.split(":")[2] for line in done.stderr.splitlines()] == ["1", "2"]
    assert len(json.loads(as_json.stderr)["error"]["faults"]) == 2


def test_a_database_that_does_not_answer_is_said_without_the_password(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATEWARD_STORE_URL", "postgresql://me:geheim@127.0.0.1:1/nothing")

    done = shell("list")

    assert done.exit_code == Exit.STORE
    assert "127.0.0.1" in done.stderr
    assert "geheim" not in done.output


def test_a_file_that_is_no_database_of_ours_is_left_alone(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear Sir or Madam, " * 100)
    monkeypatch.setenv("STATEWARD_STORE_URL", f"sqlite://{other}")

    done = shell("list")

    assert done.exit_code == Exit.STORE
    assert other.read_text() == "Dear Sir or Madam, " * 100


def test_a_full_disk_is_said_and_nothing_is_half_written(shell: Shell, tmp_path: Path) -> None:
    assert shell("list").exit_code == 0
    large = tmp_path / "large.csv"
    large.write_bytes(b"1,2,3\n" * 500_000)

    done = run(
        "--data",
        str(shell.data),
        "submit",
        str(large),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)),
    )

    assert done.returncode == Exit.DISK_FULL, done.stderr
    assert "nothing was kept" in done.stderr
    assert shell.ids() == []
    assert list((shell.data / "artifacts" / "incoming").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error(shell: Shell) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(
            "--data",
            str(shell.data),
            "counts",
            "--json",
            stdout=full,
            stderr=-1,
            capture_output=False,
        )

    assert done.returncode == Exit.DISK_FULL
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = run("settings", "reference", stdout=writer, stderr=-1, capture_output=False)

    os.close(writer)
    assert done.returncode == Exit.BROKEN_PIPE
    assert done.stderr == ""


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_stream_is_silence_and_no_other_file_takes_its_place(
    demo: Shell, closed: int
) -> None:
    done = run(
        "--data", str(demo.data), "list", "status:error", preexec_fn=lambda: os.close(closed)
    )

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("UNKNOWN_FORMAT" in done.stdout) == (closed != 1)
    assert demo("verify").exit_code == 0


def test_data_and_words_go_to_different_streams(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n")

    done = run("--data", str(shell.data), "submit", str(file))

    assert done.returncode == 0
    assert done.stdout.startswith("new ")
    assert done.stderr.startswith("1 file: 1 new\n")


def test_nothing_at_all_shows_the_help_and_is_a_mistake() -> None:
    done = run()

    assert done.returncode == Exit.USAGE
    assert done.stdout == ""
    assert "Exit codes:" in done.stderr


def test_the_version_is_said() -> None:
    done = run("--version")

    assert (done.returncode, done.stdout) == (0, f"stateward {__version__}\n")


def test_a_stream_that_knows_no_arrows_is_written_all_the_same(demo: Shell) -> None:
    record_id = demo.ids("status:normalized")[0]

    done = run(
        "--data",
        str(demo.data),
        "history",
        record_id,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )

    assert done.returncode == 0, done.stderr
    assert "parsing \\u2192 parsed" in done.stdout


def test_the_command_can_be_called_as_a_module() -> None:
    assert arguments("x")[:3] == [sys.executable, "-m", "stateward"]
    assert run("machine", "list", "--json").returncode == 0

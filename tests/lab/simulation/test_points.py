"""Crash points: each has one name, lies somewhere in the code, is reached, and can be asked for by name."""

import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from lab.simulation import Arena, simulate
from stateward.app import App
from stateward.core.errors import DeclarationError
from stateward.core.failpoints import (
    CrashAt,
    Point,
    install,
    point,
)
from stateward.settings import CRASH_AT, Settings

SOURCE = Path(__file__).parents[3] / "src" / "stateward"
SEEDS_MAX = 400


def test_every_point_lies_in_one_place_of_the_code() -> None:
    places: Counter[str] = Counter()
    for module in SOURCE.rglob("*.py"):
        if "testing" not in module.parts:
            places.update(re.findall(r"\bpoint\(Point\.(\w+)\)", module.read_text("utf-8")))

    both_engines = {
        "COMMIT_BEFORE": 2, "COMMIT_AFTER": 2, "TRANSITIONS_APPENDED": 2, "LANES_ADVANCED": 2,
    }  # fmt: skip
    assert places == {each.name: both_engines.get(each.name, 1) for each in Point}


def test_every_point_has_a_sentence_of_its_own() -> None:
    sentences = {each.value for each in Point}

    assert len(sentences) == len(Point.__members__)
    assert all("," in each for each in sentences), "what is there, and what is not"


def test_nothing_happens_at_a_point_unless_a_hook_is_installed() -> None:
    passed: list[Point] = []
    point(Point.COMMIT_BEFORE)

    before = install(passed.append)
    point(Point.COMMIT_AFTER)
    own = install(before)
    point(Point.WORK_SENT)

    assert passed == [Point.COMMIT_AFTER]
    assert own == passed.append


def test_every_point_is_reached_by_some_history() -> None:
    arena = Arena()
    missing = {each.label for each in Point}

    for seed in range(SEEDS_MAX):
        missing -= set(simulate(seed, arena).reached)
        if not missing:
            break

    assert missing == set()


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("commit_before", CrashAt(Point.COMMIT_BEFORE)),
        ("work_sent:1", CrashAt(Point.WORK_SENT)),
        ("results_written:12", CrashAt(Point.RESULTS_WRITTEN, 12)),
    ],
)
def test_a_crash_is_asked_for_by_name_and_count(text: str, asked: CrashAt) -> None:
    settings = Settings.load(environ={CRASH_AT: text})

    assert settings.crash_at == asked


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("commit", "there is no failpoint 'commit'; there are: commit_before"),
        ("work_sent:", "must be followed by a count from 1 up, not ''"),
        ("work_sent:0", "must be followed by a count from 1 up, not '0'"),
        ("work_sent:-1", "must be followed by a count from 1 up, not '-1'"),
        ("work_sent:１", "must be followed by a count from 1 up"),  # noqa: RUF001
    ],
)
def test_a_crash_that_cannot_be_meant_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(sentence)):
        Settings.load(environ={CRASH_AT: text})


def test_no_settings_file_can_ask_for_a_crash(tmp_path: Path) -> None:
    config = tmp_path / "crash.yaml"
    config.write_text("crash_at: commit_before\n")

    with pytest.raises(DeclarationError, match="crash_at"):
        Settings.load(config, environ={})
    assert Settings.load(environ={}).crash_at is None


def test_an_app_kills_its_process_at_the_point_it_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr("stateward.app.runtime.os.kill", lambda *given: killed.append(given))
    environ = {CRASH_AT: "records_written:2", "STATEWARD_DATA": str(tmp_path)}
    before = install(None)
    try:
        with App(Settings.load(environ=environ)) as app:
            app.submit(b"Date;Text;Amount\n2026-01-05;a;-1,00\n")
            assert killed == []
            app.submit(b"Date;Text;Amount\n2026-01-05;b;-1,00\n")
    finally:
        install(before)

    assert [number for _, number in killed] == [signal.SIGKILL]

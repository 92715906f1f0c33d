"""A wall clock that can be set, where libfaketime is not at hand."""

import time
from pathlib import Path

import pytest

from lab.chaos.jumping import lie, offset_s, sleep


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("+25h", 90_000), ("-1h", -3600), ("+30m", 1800), ("+0", 0), ("", 0), ("soon", 0)],
)
def test_an_offset_is_read(text: str, seconds: int) -> None:
    assert offset_s(text) == seconds


def test_only_the_wall_clock_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clock"
    file.write_text("+0")
    true_time, steady = time.time(), time.monotonic()
    monkeypatch.setattr(time, "time", time.time)
    monkeypatch.setattr(time, "time_ns", time.time_ns)
    lie(file)

    file.write_text("+25h")

    assert 90_000 <= time.time() - true_time < 90_060
    assert 90_000 <= time.time_ns() / 1e9 - true_time < 90_060
    assert time.monotonic() - steady < 60


def test_it_sleeps() -> None:
    start = time.monotonic()

    sleep(0.05)

    assert time.monotonic() - start >= 0.05

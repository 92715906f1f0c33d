"""The measuring of the console says what it found, and whether that is what was aimed for."""

import httpx2

from lab.bench.console import Answered, asked, table


def test_the_first_answer_does_not_count() -> None:
    ticks = iter([0.0, 5.0, 5.1, 6.0, 6.3])
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"x" * 2048))

    with httpx2.Client(base_url="http://console", transport=transport) as client:
        found = asked(client, "a page", "/", rounds=2, ticks=lambda: next(ticks))

    assert (round(found.median_ms), round(found.most_ms), found.kib) == (200, 300, 2.0)


def test_an_aim_is_reached_or_missed() -> None:
    lines = table(
        [
            Answered(what="quick", median_ms=10, p95_ms=20, most_ms=30, kib=1, aim_ms=300),
            Answered(what="slow", median_ms=10, p95_ms=400, most_ms=500, kib=1, aim_ms=300),
        ],
        records=1000,
    ).splitlines()

    assert "- command: `make bench-console RECORDS=1000`" in lines
    assert lines[-2:] == [
        "| quick | 10 | 20 | 30 | 1 | 300 ms: reached |",
        "| slow | 10 | 400 | 500 | 1 | 300 ms: missed |",
    ]

"""The load test over HTTP: the table of its aims."""

import pytest

from lab.load import Figures, results

REACHED, MISSED = "reached", "**missed**"


def figures(*, rate: float, sent: int, refused: int = 0) -> Figures:
    roles = {"api": 1.2, "coordinator": 0.5, "worker": 0.8, "children": 2.0, "PostgreSQL": 2.5}
    return Figures(
        rate=rate, count=9000, sent=sent, refused=refused, ended=sent, sending_s=60.0, post_ms=[9.0],
        get_ms=[14.0], end_ms=[199.0], memory_mib={"api": (79, 84)}, cpu_ms=roles,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steady", "expected"),
    [
        (figures(rate=150, sent=9000), {"150 uploads/s for 60 s | 150.0/s": REACHED}),
        (figures(rate=150, sent=8000), {"150 uploads/s for 60 s | 133.3/s": MISSED}),
        (figures(rate=100, sent=9000), {"150 uploads/s for 60 s | 150.0/s": MISSED}),
        (
            figures(rate=150, sent=8998, refused=2),
            {"nothing lost, refused or failed | 2": MISSED, "to `normalized` under 2 s | 199 ms": REACHED},
        ),
    ],
)  # fmt: skip
def test_an_aim_is_reached_or_missed(steady: Figures, expected: dict[str, str]) -> None:
    text = results(steady, None)

    for aim, word in expected.items():
        assert f"{aim} | {word} |" in text
    assert "burst" not in text


def test_a_burst_has_a_column_and_aims_of_its_own() -> None:
    text = results(figures(rate=150, sent=9000), figures(rate=0, sent=9000))

    assert "|  | steady | burst |" in text
    assert "| 10,000 uploads in a burst all end | 9,000 | **missed** |" in text
    assert "| burst: no process grows by more than 32 MiB | 5 MiB | reached |" in text

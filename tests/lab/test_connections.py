"""The load test with silent and slow clients: what it fails for, and the table of its figures."""

from argparse import Namespace
from pathlib import Path

import pytest

from lab.bench.report import check_places
from lab.connections import PLACE, results, shortcomings
from lab.load import PLACE as LOAD

WELL: dict[str, object] = {
    "sent": 1000, "refused": 0, "ended": 1000, "uploads_per_s": 50.0, "upload_ms_p50": 6.0,
    "upload_ms_p99": 376.3, "until_ended_s": 20.5, "is_alive": True, "is_in_time": True,
}  # fmt: skip


def test_the_table_says_what_was_measured_and_whether_it_is_enough() -> None:
    asked = Namespace(idle=2000, slow=200, unread=0, rate=50.0, seconds=20.0)

    well, slow = (results({**WELL, "is_in_time": is_so}, asked) for is_so in (True, False))

    assert "| connections that say nothing | 2,000 |" in well
    assert "| uploads sent, refused, ended | 1000, 0, 1000 |" in well
    assert "| the aims below | reached |" in well
    assert "| the aims below | **missed** |" in slow


def test_the_page_has_a_place_for_what_both_load_tests_measure() -> None:
    check_places(Path(__file__).parents[2] / "docs/explanation/load.md", LOAD, PLACE)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"is_alive": False}, "the service is gone"),
        ({"refused": 3}, "3 uploads were refused or had no answer"),
        ({"ended": 998}, "998 of 1000 have ended"),
        (
            {"is_in_time": False, "upload_ms_p99": 2400.5},
            "not in time: 50.0 uploads/s, p99 2400.5 ms",
        ),
    ],
)
def test_each_shortcoming_is_a_sentence(changed: dict[str, object], said: str) -> None:
    [wrong] = shortcomings({**WELL, **changed})

    assert wrong.startswith(said)
    assert shortcomings(WELL) == []

"""The load test with silent and slow clients: what it fails for, and its section of the page."""

import pytest

from lab.connections import HEADING, section_of, shortcomings, with_section

WELL: dict[str, object] = {
    "sent": 1000, "refused": 0, "ended": 1000, "uploads_per_s": 50.0, "upload_ms_p99": 376.3,
    "is_alive": True, "is_in_time": True,
}  # fmt: skip


def test_a_section_is_replaced_and_the_rest_of_the_page_stays() -> None:
    page = "# Load test\n\nfigures\n"

    first = with_section(page, f"{HEADING}\n\none\n")
    second = with_section(first, f"{HEADING}\n\ntwo\n")

    assert second == f"{page}\n{HEADING}\n\ntwo\n"
    assert with_section("# New figures\n", section_of(second)).endswith(f"{HEADING}\n\ntwo\n")
    assert (section_of(page), with_section(page, "")) == ("", page)


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

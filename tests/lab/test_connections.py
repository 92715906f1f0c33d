"""The load test with silent and slow clients keeps to its section of the page."""

from lab.connections import HEADING, section_of, with_section


def test_a_section_is_replaced_and_the_rest_of_the_page_stays() -> None:
    page = "# Load test\n\nfigures\n"

    first = with_section(page, f"{HEADING}\n\none\n")
    second = with_section(first, f"{HEADING}\n\ntwo\n")

    assert second == f"{page}\n{HEADING}\n\ntwo\n"
    assert with_section("# New figures\n", section_of(second)).endswith(f"{HEADING}\n\ntwo\n")
    assert (section_of(page), with_section(page, "")) == ("", page)

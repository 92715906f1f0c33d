"""What of a page of HTML is text, and what only some programs show."""

import pytest

from stateward.pipelines.kit.html_text import seen_text

SENTENCE = "The parties agree to keep every secret that they tell each other."


@pytest.mark.parametrize(
    "markup",
    [
        "<!--[if mso]><p>The fee is 99 EUR.</p><![endif]-->",
        "<!--[if (gte mso 9)|(IE)]><xml><x>96</x></xml><table><tr><td>The fee is 99 EUR.</td></tr></table><![endif]-->",
        "<svg><style>p { color: red }</style><text>The fee is 99 EUR.</text></svg>",
        "<iframe>The fee is 99 EUR.</iframe>",
    ],
)
def test_figures_that_only_one_program_shows_are_told(markup: str) -> None:
    seen = seen_text(f"<p>{SENTENCE}</p>{markup}")

    assert (seen.text, seen.unseen) == (SENTENCE, "The fee is 99 EUR.")


def test_a_comment_for_one_program_without_figures_only_lays_out() -> None:
    markup = f"<p>{SENTENCE}</p><!--[if mso]><p>For old programs</p><![endif]-->"

    assert seen_text(markup).unseen == ""


def test_what_other_programs_show_beside_such_a_comment_is_text() -> None:
    markup = f"<p>{SENTENCE}</p><!--[if !mso]><!--><p>The fee is 99 EUR.</p><!--<![endif]-->"

    assert seen_text(markup) == (f"{SENTENCE}\nThe fee is 99 EUR.", "", "")

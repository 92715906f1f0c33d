"""Pictures of the documentation are shown somewhere."""

from tests.docs.pages import DOCS, ROOT


def test_every_picture_is_shown_on_a_page() -> None:
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)

    unused = [each.name for each in (DOCS / "images").iterdir() if each.name not in text]

    assert unused == []

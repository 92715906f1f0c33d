"""What a field of a document or of the settings is, where it is declared."""

from typing import Any

from msgspec import Meta


def about(text: str, **how: Any) -> Meta:  # noqa: ANN401 - msgspec's own words
    """The meaning of a field for people, and its limits.

    As in `Annotated[int, about("1 to 10.", ge=1, le=10)]`.
    """
    return Meta(description=text, **how)

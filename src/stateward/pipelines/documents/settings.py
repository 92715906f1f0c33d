"""The section `documents` of the settings."""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta

from stateward.definition.section import Count, Problem, Section
from stateward.pipelines.kit.ocr import require_languages


class DocumentSettings(Section, frozen=True, kw_only=True):
    """How scans are read."""

    languages: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            description="The languages of your documents, as ISO 639 codes: they choose the words by which a receipt's "
            "total is found, and with `zh` or `ja` wide punctuation stays as it is.",
        ),
    ] = ("en", "de", "fr", "es", "it", "nl", "pt")
    date_order: Annotated[
        Literal["dmy", "mdy"] | None,
        Meta(description="The order of day and month on receipts where nothing decides it."),
    ] = None
    receipts: Annotated[
        Literal["auto", "always", "never"],
        Meta(
            description="Whether merchant, date and total are looked for: of documents that look like receipts, of "
            "all, or of none. The source type `receipt` says it of one document."
        ),
    ] = "auto"
    text_layer: Annotated[
        Literal["auto", "never"],
        Meta(
            description="`never` reads every page of a PDF from its image, even if it holds text."
        ),
    ] = "auto"
    dpi: Annotated[
        int, Meta(ge=72, le=600, description="How finely pages of a PDF are rendered to be read.")
    ] = 200
    pages_max: Annotated[Count, Meta(description="The most pages of a document.")] = 200
    pixels_max: Annotated[
        Count, Meta(description="The most pixels of a picture, before it is reduced.")
    ] = 50_000_000
    page_pixels_max: Annotated[
        int,
        Meta(
            ge=100_000,
            le=40_000_000,
            description="The most pixels of a page that is read; larger ones are reduced to it. A4 at 200 dpi has 3.9 "
            "million. With more than the default, raise `worker.memory_bytes` too.",
        ),
    ] = 8_000_000

    def problems(self) -> Iterator[Problem]:
        """A language that no model reads would give look-alikes instead of text."""
        if wrong := require_languages(self.languages):
            yield ("languages",), wrong

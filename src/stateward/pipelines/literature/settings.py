"""The section `literature` of the settings, and what it says to the runners."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from stateward.core.model import Fields
from stateward.definition.plugin import AutomaticMove, ConfiguredPlugin
from stateward.definition.section import MIB, Bytes, Count, Section

MACHINE = "literature"


class LiteratureSettings(Section, frozen=True, kw_only=True):
    """How papers are read."""

    bytes_max: Annotated[Bytes, Meta(description="The largest file of a paper.")] = 64 * MIB
    pages_max: Annotated[Count, Meta(description="The most pages of a PDF or a text.")] = 1000
    chars_max: Annotated[Count, Meta(description="The most characters of a paper.")] = 8_000_000
    require_id: Annotated[
        bool,
        Meta(
            description="Whether a paper without DOI, PMID, PMCID, arXiv or NCT number is refused (NO_ID)."
        ),
    ] = False


class ConfiguredLiterature(ConfiguredPlugin[LiteratureSettings]):
    """The literature pipeline under its settings."""

    def job_options(self, runner: str) -> Fields:
        """The limits of a paper."""
        options: Fields = msgspec.to_builtins(self.options)
        return options

    def automatic_moves(self) -> Iterator[AutomaticMove]:
        """There is no embedder: a paper is completed when its intermediate form is ready."""
        yield AutomaticMove(
            machine=MACHINE,
            status="ir_ready",
            event="document.completed",
            reason="no embedder is set: the text is searched as it is",
        )

"""The section `clauses` of the settings."""

from typing import Annotated

from msgspec import Meta

from stateward.definition.section import Count, Section


class ClauseSettings(Section, frozen=True, kw_only=True):
    """How contracts are read as clauses."""

    pages_max: Annotated[Count, Meta(description="The most pages of a contract.")] = 1000
    chars_max: Annotated[Count, Meta(description="The most characters of a contract.")] = 4_000_000

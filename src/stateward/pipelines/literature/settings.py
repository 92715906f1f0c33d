"""The section `literature` of the settings, and what it says to the runners."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from stateward.core.model import Fields
from stateward.definition.plugin import AutomaticMove, ConfiguredPlugin
from stateward.definition.section import (
    MIB,
    PLAIN_ADDRESS,
    Bytes,
    Count,
    Email,
    FilePath,
    Problem,
    Seconds,
    Section,
    Wait,
    is_plain_address,
)
from stateward.pipelines.literature import MACHINE
from stateward.pipelines.literature.lists import PaperFilters

Year = Annotated[int, Meta(ge=1500, le=2200)]


class FetchSettings(Section, frozen=True, kw_only=True):
    """How papers are fetched from their sources."""

    pubmed_url: Annotated[str, Meta(description="E-utilities, for PubMed and PMC.")] = (
        "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    )
    europepmc_url: Annotated[str, Meta(description="The REST service of Europe PMC, for DOIs.")] = (
        "https://www.ebi.ac.uk/europepmc/webservices/rest"
    )
    arxiv_url: Annotated[str, Meta(description="The API of arXiv.")] = (
        "https://export.arxiv.org/api"
    )
    clinicaltrials_url: Annotated[
        str, Meta(description="The API of ClinicalTrials.gov, version 2.")
    ] = "https://clinicaltrials.gov/api/v2"
    contact: Annotated[
        Email | None,
        Meta(description="Sent to sources, so that they can write to you before they block you."),
    ] = None
    api_key: Annotated[
        str | None,
        Meta(
            description="The key that NCBI gave you; it is sent to `pubmed_url` only.",
            extra={"secret": True},
        ),
    ] = None
    timeout_seconds: Annotated[Seconds, Meta(description="The longest wait for one answer.")] = 60.0
    bytes_max: Annotated[Bytes, Meta(description="The largest answer.")] = 64 * MIB
    pause_seconds: Annotated[
        Wait,
        Meta(
            description="The pause before each request to a host, for all workers of a machine together. NCBI allows "
            "three requests a second, ten with a key."
        ),
    ] = 0.4
    arxiv_pause_seconds: Annotated[
        Wait, Meta(description="The same for arXiv, which asks for three seconds.")
    ] = 3.0
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts, `*.domain`, addresses and networks that may be asked although they are not public."
        ),
    ] = ()
    ca_file: Annotated[
        FilePath | None,
        Meta(description="Further certificates to trust, relative to the settings file."),
    ] = None

    def problems(self) -> Iterator[Problem]:
        """Addresses that are none."""
        for name in ("pubmed_url", "europepmc_url", "arxiv_url", "clinicaltrials_url"):
            if not is_plain_address(getattr(self, name)):
                yield (name,), f"must be {PLAIN_ADDRESS}"


class ListSettings(Section, frozen=True, kw_only=True):
    """Which papers of lists are wanted; the others are skipped with the reason."""

    languages: Annotated[tuple[str, ...], Meta(description="Wanted languages; none: all.")] = ()
    skip_types: Annotated[
        tuple[str, ...], Meta(description="Types that are left out, such as Editorial.")
    ] = ()
    year_from: Annotated[Year | None, Meta(description="The first year that is wanted.")] = None
    year_to: Annotated[Year | None, Meta(description="The last year that is wanted.")] = None


class EmbedSettings(Section, frozen=True, kw_only=True):
    """How the meaning of papers is computed, for hybrid search."""

    model: Annotated[
        FilePath | None,
        Meta(
            description="The folder of a model, as `stateward models install minilm` says it, outside of the data "
            "folder. Without one, papers are completed without vectors and searched by their words.",
        ),
    ] = None


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
    fetch: Annotated[FetchSettings, Meta(description="Sources of papers.")] = FetchSettings()
    embed: Annotated[EmbedSettings, Meta(description="Vectors of papers.")] = EmbedSettings()
    lists: Annotated[ListSettings, Meta(description="Which papers of lists are wanted.")] = (
        ListSettings()
    )


class ConfiguredLiterature(ConfiguredPlugin[LiteratureSettings]):
    """The literature pipeline under its settings."""

    def job_options(self, runner: str) -> Fields:
        """The limits of a paper; only the runner that asks sources gets their addresses and the key."""
        options: Fields = msgspec.to_builtins(self.options)
        options.pop("lists")
        fetch = options.pop("fetch")
        options.pop("embed")
        model = self.options.embed.model
        if runner == "literature.download":
            return options | {"fetch": fetch}
        if runner == "literature.embed" and model is not None:
            # At the top, where the sandbox looks for folders that a runner may read.
            return options | {"embed_model": model}
        return options

    def embed_query(self, text: str) -> tuple[str, Sequence[float]] | None:
        """The vector of a query, by the model that papers are embedded with."""
        if self.options.embed.model is None:
            return None
        from stateward.pipelines.literature.embedding.stage import loaded

        model = loaded(self.options.embed.model)
        return model.name, model.vectors([text])[0].tolist()

    @property
    def filters(self) -> PaperFilters:
        """Which papers of lists are wanted."""
        return PaperFilters(**msgspec.structs.asdict(self.options.lists))

    def automatic_moves(self) -> Iterator[AutomaticMove]:
        """Without an embedder a paper is completed when its intermediate form is ready."""
        if self.options.embed.model is not None:
            return
        yield AutomaticMove(
            machine=MACHINE,
            status="ir_ready",
            event="document.completed",
            reason="no embedder is set: the text is searched as it is",
        )

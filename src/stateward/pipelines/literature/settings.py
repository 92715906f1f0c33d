"""The section `literature` of the settings, and what it says to the runners."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from stateward.core.errors import InvalidRequest, StageFailure
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

if TYPE_CHECKING:
    from stateward.pipelines.literature.embedding.endpoint import EmbeddingEndpoint

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
            "folder. Without one, and without an endpoint, papers are completed without vectors and searched by their "
            "words.",
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Meta(
            description="An endpoint with OpenAI's `/embeddings`, instead of a model on this machine: its address up "
            "to there, such as `https://host/v1`. The text of papers is sent to it.",
        ),
    ] = None
    endpoint_model: Annotated[
        str | None, Meta(description="The name of the model at the endpoint.")
    ] = None
    key: Annotated[
        str | None, Meta(description="The key of the endpoint.", extra={"secret": True})
    ] = None
    batch: Annotated[
        int, Meta(ge=1, le=2048, description="The most pieces of text in one request.")
    ] = 64
    timeout_seconds: Annotated[
        Seconds, Meta(description="The longest wait for one answer of the endpoint.")
    ] = 60.0
    ca_file: Annotated[
        FilePath | None,
        Meta(description="Further certificates to trust, relative to the settings file."),
    ] = None

    def problems(self) -> Iterator[Problem]:
        """There is one embedder; an endpoint has an address and a model."""
        if self.base_url is None:
            return
        if self.model is not None:
            yield (
                ("base_url",),
                "there is a model on this machine already: give only one of the two",
            )
        if not self.endpoint_model:
            yield ("endpoint_model",), "an endpoint needs the name of its model"
        if not is_plain_address(self.base_url):
            yield ("base_url",), f"base_url must be {PLAIN_ADDRESS}"
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            yield ("key",), "key must be printable ASCII characters"

    @property
    def is_set(self) -> bool:
        """Whether papers get vectors."""
        return self.model is not None or self.base_url is not None


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
        embed = self.options.embed
        if runner == "literature.download":
            return options | {"fetch": fetch}
        if runner == "literature.embed" and embed.base_url is not None:
            return options | {"embed_endpoint": msgspec.to_builtins(self._endpoint())}
        if runner == "literature.embed" and embed.model is not None:
            # At the top, where the sandbox looks for folders that a runner may read.
            return options | {"embed_model": embed.model}
        return options

    def offline_runners(self) -> Collection[str]:
        """A model of this machine needs no connection, so its process gets none."""
        return () if self.options.embed.base_url is not None else ("literature.embed",)

    @property
    def is_embedding(self) -> bool:
        """With a model of this machine or an endpoint."""
        return self.options.embed.is_set

    def embed_query(self, text: str) -> tuple[str, Sequence[float]] | None:
        """The vector of a query, by the model that papers are embedded with."""
        if not self.options.embed.is_set:
            return None
        from stateward.pipelines.literature.embedding.stage import load_model

        folder = self.options.embed.model
        model = self._endpoint() if folder is None else load_model(folder)
        try:
            return model.name, model.vectors([text])[0].tolist()
        except StageFailure as failure:
            said = f"the query cannot be embedded now: {failure}; search by words meanwhile"
            raise InvalidRequest(said) from failure

    def _endpoint(self) -> "EmbeddingEndpoint":
        from stateward.pipelines.literature.embedding.endpoint import EmbeddingEndpoint

        embed = self.options.embed
        return EmbeddingEndpoint(
            base_url=embed.base_url or "",
            model=embed.endpoint_model or "",
            key=embed.key or "",
            batch=embed.batch,
            timeout_s=embed.timeout_seconds,
            ca_file=embed.ca_file,
        )

    @property
    def filters(self) -> PaperFilters:
        """Which papers of lists are wanted."""
        return PaperFilters(**msgspec.structs.asdict(self.options.lists))

    def automatic_moves(self) -> Iterator[AutomaticMove]:
        """Without an embedder a paper is completed when its intermediate form is ready."""
        if self.options.embed.is_set:
            return
        yield AutomaticMove(
            machine=MACHINE,
            status="ir_ready",
            event="document.completed",
            reason="no embedder is set: the text is searched as it is",
        )

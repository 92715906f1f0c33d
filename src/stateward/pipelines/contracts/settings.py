"""The section `contracts` of the settings."""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, field

from stateward.definition.section import (
    PLAIN_ADDRESS,
    Count,
    FilePath,
    Problem,
    Seconds,
    Section,
    is_plain_address,
)


class ModelSettings(Section, frozen=True, kw_only=True):
    """A language model that reads contracts, behind any endpoint with OpenAI's chat completions API."""

    base_url: Annotated[
        str | None,
        Meta(
            description="Its address, up to `/chat/completions`, as in `https://api.example.com/v1`; null: none."
        ),
    ] = None
    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="The name of the model at the endpoint."),
    ] = None
    key: Annotated[
        str | None,
        Meta(
            extra={"secret": True, "variable": "STATEWARD_MODEL_KEY"},
            description="The API key; better given by `STATEWARD_MODEL_KEY` or `key_file` than here.",
        ),
    ] = None
    key_file: Annotated[
        FilePath | None,
        Meta(description="A file that holds only the key, relative to the settings file."),
    ] = None
    timeout_seconds: Annotated[
        Seconds, Meta(description="How long one response may take, to its last byte.")
    ] = 120.0
    retries: Annotated[
        int,
        Meta(
            ge=0,
            le=20,
            description="Retries when the endpoint is busy (429), failing (5xx) or does not answer, within the "
            "timeout of the stage. Its `Retry-After` is respected.",
        ),
    ] = 4
    response_format: Annotated[
        Literal["json_schema", "json_object", "none"],
        Meta(
            description="How the endpoint is asked to follow the schema; `json_object` and `none` are for those "
            "without schema support: the schema is then part of the prompt. The answer is validated in any case.",
        ),
    ] = "json_schema"
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None,
        Meta(description="The sampling temperature; null: the default of the endpoint."),
    ] = 0.0
    tokens_max: Annotated[
        Count | None,
        Meta(description="The most tokens of a response; null: the limit of the endpoint."),
    ] = None
    document_chars_max: Annotated[
        Count, Meta(description="How much of a document is sent; the rest is left out.")
    ] = 200_000
    prompt_label: Annotated[
        Annotated[str, Meta(min_length=1, max_length=40)] | None,
        Meta(
            description="Prompts with this label are taken before those without any; null: only those without."
        ),
    ] = None
    clause_types: Annotated[
        bool,
        Meta(
            description="Whether it is also asked, in a request of its own, for the types of clauses of which the "
            "rules are not sure."
        ),
    ] = False
    price_input: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="The price of a million input tokens; null: no cost is calculated."),
    ] = None
    price_output: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="The price of a million output tokens."),
    ] = None
    ca_file: Annotated[
        FilePath | None,
        Meta(
            description="A file of certificates (PEM) to trust besides the system's, relative to the settings "
            "file.",
        ),
    ] = None

    def problems(self) -> Iterator[Problem]:
        """The key travels in an HTTP header."""
        if self.base_url is not None and not is_plain_address(self.base_url):
            yield ("base_url",), f"base_url must be {PLAIN_ADDRESS}"
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            yield ("key",), "key must be printable ASCII characters"
        if self.key is not None and " " in self.key:
            yield ("key",), "key must not contain a space"


class ContractSettings(Section, frozen=True, kw_only=True):
    """How contracts are read, checked and compared."""

    extractor: Annotated[
        Literal["offline", "model", "both"],
        Meta(
            description="What extracts the terms: the rules that ship, a model, or both, whose agreement is the "
            "confidence. A model alone never scores high enough to skip review.",
        ),
    ] = "offline"
    model: ModelSettings = ModelSettings()
    rules: Annotated[
        FilePath | None,
        Meta(
            description="A folder of your own verticals and providers (YAML), relative to the settings file; read "
            "again when a file changes.",
        ),
    ] = None
    prompts: Annotated[
        FilePath | None,
        Meta(
            description="A folder of your own prompts (YAML), relative to the settings file; read again when a "
            "file changes.",
        ),
    ] = None
    offers: Annotated[
        FilePath | None,
        Meta(
            description="The list of offers (CSV or JSON), relative to the settings file; null: a sample of "
            "invented ones. Read again when it changes.",
        ),
    ] = None
    comparison: Annotated[
        FilePath | None,
        Meta(
            description="A YAML file that says how contracts of your own verticals are compared, relative to the "
            "settings file.",
        ),
    ] = None
    consumption: Annotated[
        dict[str, Annotated[float, Meta(gt=0, le=10_000_000)]],
        Meta(
            description="The yearly consumption to assume where none is known, by vertical, as in `{energy: 3500}`."
        ),
    ] = field(default_factory=dict)
    saving_min: Annotated[
        float,
        Meta(ge=0, description="What an offer must save in the first year to count as better."),
    ] = 0.0
    currency: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Z]{3}\Z",
            title="a currency such as EUR",
            description="The currency of contracts; offers in another are not compared.",
        ),
    ] = "EUR"
    pages_max: Annotated[Count, Meta(description="The most pages of a contract.")] = 1000
    chars_max: Annotated[Count, Meta(description="The most characters of a contract.")] = 4_000_000

    def problems(self) -> Iterator[Problem]:
        """A model needs an address and a name."""
        for name in ("base_url", "name"):
            if self.extractor != "offline" and getattr(self.model, name) is None:
                yield (
                    ("extractor",),
                    f"the extractor {self.extractor} needs contracts.model.{name}",
                )

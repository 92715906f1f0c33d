"""The section `catalogs` of the settings, and what it says to the runners."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec import Meta

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import Fields
from stateward.definition.plugin import ConfiguredPlugin, Host
from stateward.definition.section import MIB, Bytes, FilePath, Section
from stateward.pipelines.catalogs.categories import CategoryRules


class CatalogSettings(Section, frozen=True, kw_only=True):
    """How suppliers' catalogues are read."""

    currency: Annotated[
        Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z", title="a currency code such as EUR")] | None,
        Meta(
            description="The currency of prices beside which none is printed; a label `currency` goes before it."
        ),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        Meta(
            description="The decimal sign of prices, whatever the file shows; a label `decimal` goes before it."
        ),
    ] = None
    categories: Annotated[
        FilePath | None,
        Meta(
            description="A YAML file of your own rules for categories, relative to the settings file; they apply "
            "before those that ship."
        ),
    ] = None
    unmapped_categories: Annotated[
        Literal["flag", "reject"],
        Meta(
            description="What happens to a product whose category no rule maps: `flag` keeps it, `reject` does not."
        ),
    ] = "flag"
    inflated_bytes_max: Annotated[
        Bytes, Meta(description="The largest uncompressed size of a spreadsheet.")
    ] = 256 * MIB
    tree_bytes_max: Annotated[
        Bytes, Meta(description="The largest JSON or XML file, which is held in memory as a whole.")
    ] = 64 * MIB


class ConfiguredCatalogs(ConfiguredPlugin[CatalogSettings]):
    """The catalogue pipeline under its settings; a file of rules that is wrong is refused here."""

    def __init__(self, options: CatalogSettings, host: Host) -> None:
        super().__init__(options, host)
        self._job_options: Fields = {
            "currency": options.currency or "",
            "decimal": options.decimal or "",
            "unmapped_categories": options.unmapped_categories,
            "categories": {} if options.categories is None else _rules(Path(options.categories)),
            "inflated_bytes_max": options.inflated_bytes_max,
            "tree_bytes_max": options.tree_bytes_max,
        }

    def job_options(self, runner: str) -> Fields:
        """The same for both stages."""
        return self._job_options


def _rules(path: Path) -> Fields:
    try:
        found: Fields = yaml.safe_load(path.read_text("utf-8"))
        msgspec.convert(found, CategoryRules)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        sentence = f"cannot be used as rules for categories: {error}"
        raise DeclarationError(
            [Fault(source=str(path), line=0, path="", sentence=sentence)]
        ) from error
    return found

"""The section `web` of the settings, and what it says to the runners."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import msgspec
import yaml
from msgspec import Meta

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import Fields
from stateward.definition.plugin import ConfiguredPlugin, Host
from stateward.definition.section import MIB, Bytes, Count, FilePath, Seconds, Section
from stateward.pipelines.web.entities import AliasTable


class WebSettings(Section, frozen=True, kw_only=True):
    """How web pages are fetched and read."""

    fetch: Annotated[
        bool,
        Meta(description="Whether pages are fetched by their address (source type `web_url`)."),
    ] = True
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts, `*.domain`, addresses and networks that pages may be fetched from although they are "
            "not public."
        ),
    ] = ()
    ports: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=65535)], ...],
        Meta(description="Ports at which all others may offer pages."),
    ] = (80, 443)
    robots: Annotated[bool, Meta(description="Whether robots.txt of a site is obeyed.")] = True
    user_agent: Annotated[
        Annotated[str, Meta(pattern=r"\A[ -~]{1,200}\Z", title="printable ASCII")],
        Meta(description="How fetching introduces itself; robots.txt is asked for its first word."),
    ] = "Stateward/1 (+https://stateward.invalid/robots)"
    fetch_timeout_seconds: Annotated[
        Seconds, Meta(description="How long one request may take, redirects apart.")
    ] = 20.0
    page_bytes_max: Annotated[
        Bytes, Meta(description="The largest page, as it is received or unpacked.")
    ] = 8 * MIB
    pages_max: Annotated[Count, Meta(description="The most pages of a WARC file.")] = 100
    facts_max: Annotated[Count, Meta(description="The most facts of one page.")] = 2000
    aliases: Annotated[
        FilePath | None,
        Meta(
            description="A YAML file of your own names for people and organisations, relative to the settings file; "
            "they go before those that ship."
        ),
    ] = None


class ConfiguredWeb(ConfiguredPlugin[WebSettings]):
    """The web pipeline under its settings; a table of aliases that is wrong is refused here."""

    def __init__(self, options: WebSettings, host: Host) -> None:
        super().__init__(options, host)
        self._job_options: Fields = {
            **msgspec.to_builtins(options),
            "aliases": {} if options.aliases is None else _aliases(Path(options.aliases)),
        }

    def job_options(self, runner: str) -> Fields:
        """The same for all stages."""
        return self._job_options

    def offline_runners(self) -> Collection[str]:
        """Where fetching is switched off, the process could not connect either."""
        return () if self.options.fetch else ("web.fetch",)


def _aliases(path: Path) -> Fields:
    try:
        found: Fields = yaml.safe_load(path.read_text("utf-8"))
        msgspec.convert(found, AliasTable)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        sentence = f"cannot be used as a table of aliases: {error}"
        raise DeclarationError(
            [Fault(source=str(path), line=0, path="", sentence=sentence)]
        ) from error
    return found

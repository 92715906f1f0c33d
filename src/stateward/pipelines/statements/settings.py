"""The section `statements` of the settings, and what it says to the runners and to the submission of documents."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec import Meta

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import Fields, Json
from stateward.definition.plugin import ConfiguredPlugin, Host, SourceType
from stateward.definition.section import MIB, Bytes, Count, FilePath, Name, Section
from stateward.pipelines.statements import MACHINE, RUNNERS

LEARNED = "learned/column-profiles.yaml"  # in the data folder


class SourceTypeSettings(Section, frozen=True, kw_only=True):
    """A name for hints about statements that are read under it."""

    name: Annotated[Name, Meta(description="The value of `--source-type`.")]
    format: Annotated[
        Literal[
            "pdf",
            "csv",
            "sheet",
            "ofx",
            "qif",
            "mt940",
            "camt",
            "bai2",
            "coda",
            "norma43",
            "cnab240",
            "one_c",
            "html",
        ]
        | None,
        Meta(description="The expected format; the content decides."),
    ] = None
    date_order: Annotated[
        Literal["dmy", "mdy", "ymd"] | None,
        Meta(description="The order of day and month where nothing in the file decides it."),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        Meta(description="The decimal sign where nothing in the file decides it."),
    ] = None
    sign: Annotated[
        Literal["printed", "flipped"] | None,
        Meta(description="`flipped`: positive amounts of the table are money out."),
    ] = None
    currency: Annotated[str | None, Meta(description="The currency where none is printed.")] = None
    encoding: Annotated[str | None, Meta(description="The encoding of text files.")] = None
    is_card: Annotated[bool, Meta(description="Whether these are card statements.")] = False


class StatementSettings(Section, frozen=True, kw_only=True):
    """How bank statements are read."""

    ambiguous_dates: Annotated[
        Literal["flag", "fail"],
        Meta(
            description="What happens to a file whose dates could all be day first or month first: `flag` reads it "
            "without dates and adds a note, `fail` ends in AMBIGUOUS_DATES."
        ),
    ] = "flag"
    date_order: Annotated[
        Literal["dmy", "mdy"] | None,
        Meta(description="The order of day and month where nothing in a file decides it."),
    ] = None
    require_proof: Annotated[
        bool,
        Meta(
            description="Whether a statement that nothing proves (no balances, no totals) is flagged and needs a "
            "decision."
        ),
    ] = False
    rules: Annotated[
        FilePath | None,
        Meta(
            description="A YAML file of your own rules for descriptions and merchants, relative to the settings "
            "file; they apply before those that ship.",
        ),
    ] = None
    column_profiles: Annotated[
        FilePath | None,
        Meta(
            description="A YAML file of your own column profiles, relative to the settings file; they apply before "
            "those that ship.",
        ),
    ] = None
    passwords: Annotated[
        FilePath | None,
        Meta(
            description="A text file of passwords to try on locked PDFs, one a line, relative to the "
            "settings file.",
        ),
    ] = None
    source_types: Annotated[
        tuple[SourceTypeSettings, ...],
        Meta(description="Your own names for hints, besides those that ship."),
    ] = ()
    inflated_bytes_max: Annotated[
        Bytes, Meta(description="The largest uncompressed size of a spreadsheet.")
    ] = 256 * MIB
    pages_max: Annotated[Count, Meta(description="The most pages of a PDF.")] = 2000


class ConfiguredStatements(ConfiguredPlugin[StatementSettings]):
    """The statements pipeline under its settings; a file of rules that is wrong is refused here."""

    def __init__(self, options: StatementSettings, host: Host) -> None:
        super().__init__(options, host)
        self._learned_state: tuple[int, ...] = ()
        self._learned_profiles: Fields = {}
        types: Fields = {
            each.name: {
                key: value
                for key, value in msgspec.structs.asdict(each).items()
                if key != "name" and value
            }
            for each in options.source_types
        }
        self._job_options: Fields = {
            "ambiguous_dates": options.ambiguous_dates,
            "date_order": options.date_order or "",
            "require_proof": options.require_proof,
            "inflated_bytes_max": options.inflated_bytes_max,
            "pages_max": options.pages_max,
            "source_types": types,
            "rules": {} if options.rules is None else _mapping(Path(options.rules)),
            "column_profiles": {}
            if options.column_profiles is None
            else _mapping(Path(options.column_profiles)),
            "passwords": [] if options.passwords is None else _lines(Path(options.passwords)),
        }

    def job_options(self, runner: str) -> Fields:
        """The same for both stages; what was learned meanwhile comes behind one's own profiles."""
        return {**self._job_options, "learned_profiles": self._read_learned()}

    def learn(self, rows: list[list[str]], hints: Mapping[str, str], *, name: str) -> str:
        """Remember what was said about the columns of a table."""
        from stateward.pipelines.statements.learning import learn

        data = self.host.data
        return "" if data is None else learn(data / LEARNED, rows, hints, name=name)

    def _read_learned(self) -> Fields:
        """The profiles that were learned; read again only when their file has changed, because every job asks."""
        if self.host.data is None:
            return {}
        path = self.host.data / LEARNED
        try:
            found = path.stat()
        except FileNotFoundError:
            return {}
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        if state != self._learned_state:
            from stateward.pipelines.statements.learning import learned_profiles

            self._learned_profiles, self._learned_state = learned_profiles(path), state
        return self._learned_profiles

    def source_types(self) -> Iterator[SourceType]:
        """Names for hints of one's own."""
        for each in self.options.source_types:
            yield SourceType(
                name=each.name, machine=MACHINE, format=each.format or "", runners=RUNNERS
            )


def _mapping(path: Path) -> Fields:
    try:
        found = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        raise _refusal(path, f"is no YAML: {error}") from error
    if not isinstance(found, dict):
        raise _refusal(path, "must be a mapping with a version")
    return found


def _lines(path: Path) -> list[Json]:
    return [line for line in _text(path).splitlines() if line.strip()]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(path, f"cannot be read: {error}") from error


def _refusal(path: Path, sentence: str) -> DeclarationError:
    return DeclarationError([Fault(source=str(path), line=0, path="", sentence=sentence)])

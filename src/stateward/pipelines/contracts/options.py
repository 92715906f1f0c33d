"""What the settings say to the stages of the contract machine, read again when one of their files changes.

Rules, prompts, offers and the key of the model are files that people edit while the service runs. Before each job
their times and sizes are looked at, and what changed is read and checked. A file that is wrong when the service starts
is refused; one that becomes wrong later is complained of, and what was read before stays in use. Each stage gets what
it needs and no more: the key of the model goes to `extract` alone.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from stateward.core.errors import DeclarationError, Fault, InvalidRequest
from stateward.core.model import (
    SECOND,
    Fields,
    Json,
    Record,
)
from stateward.definition.plugin import ConfiguredPlugin, Corrected, Correction, Host
from stateward.pipelines.contracts.offers import CATALOGUE_CHARS_MAX, read_catalogue
from stateward.pipelines.contracts.prompts import prompts_of
from stateward.pipelines.contracts.rules import (
    ContractRules,
    Vertical,
    default_rules,
    rules_of,
    shipped_texts,
)
from stateward.pipelines.contracts.settings import ContractSettings, ModelSettings
from stateward.pipelines.contracts.terms import read_terms
from stateward.pipelines.kit.money import typed_number
from stateward.workers.sdk import Job

if TYPE_CHECKING:  # the readers take long to import
    from stateward.pipelines.contracts.extraction import Extraction
    from stateward.pipelines.kit.documents import TextDocument

FILES_MAX = 200
FILE_BYTES_MAX = 4 * CATALOGUE_CHARS_MAX
KEY_BYTES_MAX = 4096
SUFFIXES = (".yaml", ".yml")
UNAPPROVABLE = ("MISSING", "EMPTY")  # codes of problems that an approval would pass over in silence

T = TypeVar("T")
Texts = dict[str, str]
Stamp = tuple[tuple[str, int, int], ...]


class Watched(Generic[T]):
    """What one file, or the YAML files of one folder, say; read again when a time or a size changes."""

    def __init__(
        self,
        path: Path | None,
        read: Callable[[Texts], T],
        *,
        warn: Callable[[str], object],
        bytes_max: int = FILE_BYTES_MAX,
    ) -> None:
        self._path = path
        self._read = read
        self._warn = warn
        self._bytes_max = bytes_max
        self._stamp = self._stamp_files()
        self.texts = self._texts()
        self.value = None if path is None else read(self.texts)  # what ships needs no check

    def refresh(self) -> None:
        """Read what changed; what cannot be used is said once, and changes nothing."""
        stamp = self._stamp_files()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            texts = self._texts()
            value = self._read(texts)
        except DeclarationError as error:
            self._warn(f"{error}; what was read before stays in use")
            return
        self.texts, self.value = texts, value

    def _files(self) -> list[Path]:
        if self._path is None:
            return []
        if not self._path.is_dir():
            return [self._path]
        found = sorted(each for each in self._path.iterdir() if each.suffix in SUFFIXES)
        if len(found) > FILES_MAX:
            said = f"a folder holds at most {FILES_MAX} files, not {len(found)}"
            raise _refusal(self._path, said)
        return found

    def _stamp_files(self) -> Stamp:
        try:
            stats = [(path, path.stat()) for path in self._files()]
        except OSError:
            return ((str(self._path), -1, -1),)
        return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in stats)

    def _texts(self) -> Texts:
        try:
            return {str(path): self._text(path) for path in self._files()}
        except OSError as error:
            raise _refusal(self._path, f"cannot be read: {error.strerror}") from error

    def _text(self, path: Path) -> str:
        with path.open("rb") as file:
            data = file.read(self._bytes_max + 1)
        if len(data) > self._bytes_max:
            raise _refusal(path, f"is larger than {self._bytes_max} bytes")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _refusal(path, "is not UTF-8; save it as UTF-8") from error


class ConfiguredContracts(ConfiguredPlugin[ContractSettings]):
    """The contracts pipeline under its settings, live. Raises `DeclarationError` for a file that cannot be used."""

    def __init__(self, options: ContractSettings, host: Host) -> None:
        super().__init__(options, host)
        warn = host.warn
        self._rules = Watched(_path(options.rules), _rules, warn=warn)
        self._prompts = Watched(_path(options.prompts), prompts_of, warn=warn)
        self._offers = Watched(_path(options.offers), _offers, warn=warn)
        self._terms = Watched(_path(options.comparison), _terms, warn=warn)
        self._key = Watched(_path(options.model.key_file), _key, warn=warn, bytes_max=KEY_BYTES_MAX)

    def job_options(self, runner: str) -> Fields:
        """What one stage needs and no more: the key of the model goes to `extract` alone."""
        makers: dict[str, Callable[[], Fields]] = {
            "contract.parse": self.parse,
            "contract.extract": self.extract,
            "contract.validate": self.validate,
            "contract.compare": self.compare,
        }
        return makers[runner]()

    def offline_runners(self) -> tuple[str, ...]:
        """Without a model no request is made."""
        return ("contract.extract",) if self.options.extractor == "offline" else ()

    def check_hints(self, hints: Mapping[str, str]) -> None:
        """A vertical must have rules, and a consumption be a number."""
        if vertical := hints.get("vertical"):
            self.rules.vertical(vertical)
        consumption = hints.get("consumption")
        amount = typed_number(consumption) if consumption else None
        if consumption and (amount is None or amount <= 0):
            raise InvalidRequest("consumption: write a number of units a year, like 3500")

    def hint_choices(self, name: str) -> Sequence[str]:
        """The verticals that have rules, those of the settings among them."""
        return sorted(self.rules.verticals) if name == "vertical" else ()

    def check_correction(self, correction: Correction) -> Corrected:
        """A reviewer's values under the rules of the contract's vertical."""
        record = correction.record
        vertical = record.fields.get("vertical") or record.labels.get("vertical")
        rules = self.rules
        if vertical not in rules.verticals:
            return Corrected(items=correction.items)
        from stateward.pipelines.contracts.corrections import correct_items

        items, faults = correct_items(
            correction.items, named=correction.fields, vertical=str(vertical), rules=rules
        )
        return Corrected(items=items, faults=faults)

    def check_approval(
        self, record: Record, problems: Sequence[Fields]
    ) -> Sequence[tuple[str, str]]:
        """Required fields without a value: a person gives it, or says (null) that the contract does not state it."""
        return [
            (
                str(each.get("field")),
                "it has no value; correct it, or mark it as not stated (null)",
            )
            for each in problems
            if each.get("code") in UNAPPROVABLE
        ]

    def extract_terms(
        self, document: "TextDocument", vertical: Vertical, rules: ContractRules
    ) -> "Extraction":
        """What the extractor of the settings finds in a text; for measurements."""
        from stateward.pipelines.contracts.stages import Options, extract_terms

        job = Job(record_id="measured", stage="extract", options=self.extract())
        return extract_terms(job, document, vertical, rules, Options.of(job))

    @property
    def rules(self) -> ContractRules:
        """The rules that apply now; for checks of values outside a stage."""
        self._rules.refresh()
        return self._rules.value or default_rules()

    def parse(self) -> Fields:
        """What reading the text may cost."""
        return {"pages_max": self.options.pages_max, "chars_max": self.options.chars_max}

    def extract(self) -> Fields:
        """Who extracts, by which rules and prompts."""
        self._rules.refresh()
        options: Fields = {"extractor": self.options.extractor, "rules": _json(self._rules.texts)}
        if self.options.extractor != "offline":
            self._prompts.refresh()
            self._key.refresh()
            options["prompts"] = _json(self._prompts.texts)
            options["model"] = _model(self.options.model, self._key.value or "")
        return options

    def validate(self) -> Fields:
        """By which rules values are judged."""
        self._rules.refresh()
        return {"rules": _json(self._rules.texts)}

    def compare(self) -> Fields:
        """With which offers, on which day, and what is assumed."""
        self._offers.refresh()
        self._terms.refresh()
        today = datetime.fromtimestamp(self.host.clock() / SECOND, UTC).date()
        consumption: Fields = {
            name: _plain(amount) for name, amount in self.options.consumption.items()
        }
        return {
            "today": today.isoformat(),
            "offers": _json(self._offers.texts),
            "comparison": _json(self._terms.texts),
            "consumption": consumption,
            "saving_min": _plain(self.options.saving_min),
            "currency": self.options.currency,
        }


def _model(model: ModelSettings, key: str) -> Fields:
    return {
        "base_url": model.base_url or "",
        "name": model.name or "",
        "key": model.key or key,
        "timeout_seconds": model.timeout_seconds,
        "retries": model.retries,
        "response_format": model.response_format,
        "temperature": model.temperature,
        "tokens_max": model.tokens_max,
        "document_chars_max": model.document_chars_max,
        "prompt_label": model.prompt_label or "",
        "clause_types": model.clause_types,
        "price_input": _price(model.price_input),
        "price_output": _price(model.price_output),
        "ca_file": model.ca_file or "",
    }


def _rules(own: Texts) -> ContractRules:
    return rules_of({**shipped_texts(), **own})


def _offers(own: Texts) -> int:
    """How many offers there are; reading them is the check."""
    return sum(len(read_catalogue(text, source=name).offers) for name, text in own.items())


def _terms(own: Texts) -> int:
    return sum(len(read_terms(text, source=name)) for name, text in own.items())


def _key(own: Texts) -> str:
    key = "".join(own.values()).strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise _refusal(Path(*own), "must hold the key alone, in plain letters, digits and signs")
    return key


def _json(texts: Texts) -> dict[str, Json]:
    return dict(texts)


def _price(price: float | None) -> str:
    return "" if price is None else _plain(price)


def _plain(number: float) -> str:
    """A number of the settings as a decimal text, just as it was written."""
    return f"{Decimal(str(number)):f}"


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _refusal(path: Path | None, sentence: str) -> DeclarationError:
    return DeclarationError([Fault(source=str(path), line=0, path="", sentence=sentence)])

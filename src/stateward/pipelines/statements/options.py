"""What the settings and the labels of a record say to the two stages."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Json
from stateward.pipelines.kit import money
from stateward.pipelines.statements.source import Bounds, Hints
from stateward.workers.sdk import Job

# A source type is a name for hints. `auto` has none; `credit_card` says whose account it is, not its format.
SOURCE_TYPES: dict[str, dict[str, Json]] = {
    "auto": {},
    "bank_pdf": {"format": "pdf"},
    "bank_csv": {"format": "csv"},
    "bank_xlsx": {"format": "sheet"},
    "bank_ofx": {"format": "ofx"},
    "bank_qif": {"format": "qif"},
    "bank_mt940": {"format": "mt940"},
    "bank_camt": {"format": "camt"},
    "bank_bai2": {"format": "bai2"},
    "bank_coda": {"format": "coda"},
    "bank_norma43": {"format": "norma43"},
    "bank_cnab240": {"format": "cnab240"},
    "bank_1c": {"format": "one_c"},
    "bank_html": {"format": "html"},
    "bank_scan": {},
    "credit_card": {"is_card": True},
}
# Labels of a record that are hints too: `stateward submit --label date_order=dmy`.
LABELS = ("date_order", "decimal", "currency", "account", "sign", "encoding", "map")
# What such a label may say; the reader would take no notice of anything else.
FORMS = {
    "date_order": re.compile(r"dmy|mdy|ymd"),
    "decimal": re.compile(r"[.,]"),
    "sign": re.compile(r"printed|flipped"),
    "currency": re.compile(r"[A-Z]{3,5}"),
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The section `statements` of the settings, as it reaches a runner."""

    ambiguous_dates: Literal["flag", "fail"] = "flag"
    date_order: str = ""
    require_proof: bool = False
    inflated_bytes_max: int = Bounds().inflated_bytes_max
    pages_max: int = Bounds().pages_max
    source_types: dict[str, dict[str, Json]] = {}
    rules: dict[str, Json] = {}
    column_profiles: dict[str, Json] = {}
    learned_profiles: dict[str, Json] = {}
    passwords: tuple[str, ...] = ()
    password: str = ""  # for this document alone

    @classmethod
    def of(cls, job: Job) -> "Options":
        """Those of a job."""
        return msgspec.convert(dict(job.options), cls)

    @property
    def profiles(self) -> dict[str, Json]:
        """The column profiles of the settings, then those that were learned."""
        files = (self.column_profiles, self.learned_profiles)
        listed = [each for file in files for each in _profiles_in(file)]
        return (
            {**self.learned_profiles, **self.column_profiles, "profiles": listed} if listed else {}
        )

    @property
    def bounds(self) -> Bounds:
        """What a file may cost."""
        return Bounds(inflated_bytes_max=self.inflated_bytes_max, pages_max=self.pages_max)

    def hints(self, labels: Mapping[str, Json]) -> tuple[Hints, str]:
        """The hints of a source type and of labels, and a sentence if the type is unknown."""
        known = SOURCE_TYPES | self.source_types
        name = str(labels.get("source_type") or "auto")
        said = "" if name in known else f"the source type {name!r} is unknown and says nothing"
        given: dict[str, Json] = {"date_order": self.date_order, **known.get(name, {})}
        given |= {key: _hint_value(key, str(labels[key])) for key in LABELS if labels.get(key)}
        given["is_order_said"] = bool(labels.get("date_order"))
        try:
            known_ones = [self.password, *self.passwords] if self.password else self.passwords
            given |= {"source_type": name, "passwords": list(known_ones)}
            return msgspec.convert(given, Hints), said
        except msgspec.ValidationError as error:
            raise FatalFailure(
                f"the source type {name!r} cannot be used: {error}", code="BAD_HINT"
            ) from error


def _hint_value(name: str, text: str) -> str:
    """What a label says; refused where it says nothing that can be meant."""
    value = money.currency_code(text) if name == "currency" else text
    if name in FORMS and not FORMS[name].fullmatch(value):
        raise FatalFailure(f"{text!r} is no {name.replace('_', ' ')}", code="BAD_HINT")
    return value


def _profiles_in(file: Mapping[str, Json]) -> list[Json]:
    found = file.get("profiles", [])
    return (
        found if isinstance(found, list) else [found]
    )  # what is no list is refused with its reason later

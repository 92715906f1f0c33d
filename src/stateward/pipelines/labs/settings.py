"""The section `labs` of the settings, and what it says to the runners and to reviewers' corrections."""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import yaml
from msgspec import Meta

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import Fields, Json
from stateward.definition.plugin import ConfiguredPlugin, Corrected, Correction, Host
from stateward.definition.section import MIB, Bytes, Count, FilePath, Section


class LabSettings(Section, frozen=True, kw_only=True):
    """How lab reports are read and judged."""

    date_order: Annotated[
        Literal["dmy", "mdy"] | None,
        Meta(description="The order of day and month where nothing in a report decides it."),
    ] = None
    critical_values: Annotated[
        FilePath | None,
        Meta(
            description="A YAML file of your own critical values (analyte, low and high in its canonical unit), "
            "relative to the settings file; it replaces the list that ships.",
        ),
    ] = None
    delta_percent: Annotated[
        Annotated[int, Meta(ge=1, le=1000)],
        Meta(
            description="A change against the previous result of the same test of more percent than this is reported."
        ),
    ] = 50
    patient_key_file: Annotated[
        FilePath | None,
        Meta(
            description="A file that holds a secret of at least 16 bytes, relative to the settings file. Results then "
            "carry a keyed hash of the patient's identifier; without it they carry none.",
        ),
    ] = None
    passwords: Annotated[
        FilePath | None,
        Meta(
            description="A text file of passwords to try on locked PDFs, one a line, relative to the settings file."
        ),
    ] = None
    bytes_max: Annotated[Bytes, Meta(description="The largest report.")] = 64 * MIB
    pages_max: Annotated[Count, Meta(description="The most pages of a PDF.")] = 500
    results_max: Annotated[Count, Meta(description="The most results of one document.")] = 200_000


KEY_BYTES_MIN = 16


class ConfiguredLabs(ConfiguredPlugin[LabSettings]):
    """The plug-in under the settings of one service."""

    def __init__(self, options: LabSettings, host: Host) -> None:
        super().__init__(options, host)
        self._job_options: Fields = {
            "date_order": options.date_order or "",
            "delta_percent": options.delta_percent,
            "bytes_max": options.bytes_max,
            "pages_max": options.pages_max,
            "results_max": options.results_max,
            "patient_key": _patient_key(options.patient_key_file),
            "passwords": _lines(options.passwords),
            "critical_values": _mapping(options.critical_values),
        }

    def job_options(self, runner: str) -> Fields:
        """The same for every stage."""
        return self._job_options

    def check_correction(self, correction: Correction) -> Corrected:
        """A reviewer's values: readable, and of results that the report has."""
        from stateward.pipelines.labs.corrections import correct_items

        return correct_items(correction)


def _patient_key(path: str | None) -> str:
    """A key that is derived from the secret, so that the secret itself reaches no job."""
    if path is None:
        return ""
    secret = _bytes(Path(path)).strip()
    if len(secret) < KEY_BYTES_MIN:
        raise _refusal(Path(path), f"must hold a secret of at least {KEY_BYTES_MIN} bytes")
    return hashlib.sha256(b"stateward labs patient key\x00" + secret).hexdigest()


def _lines(path: str | None) -> list[Json]:
    text = "" if path is None else _bytes(Path(path)).decode("utf-8", "replace")
    return [line for line in text.splitlines() if line.strip()]


def _mapping(path: str | None) -> dict[str, Json]:
    if path is None:
        return {}
    try:
        found = yaml.safe_load(_bytes(Path(path)))
    except yaml.YAMLError as error:
        raise _refusal(Path(path), f"is no YAML: {error}") from error
    if not isinstance(found, dict):
        raise _refusal(Path(path), "must map analytes to {low, high}")
    return {str(name): value for name, value in found.items()}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error}") from error


def _refusal(path: Path, sentence: str) -> DeclarationError:
    return DeclarationError([Fault(source=str(path), line=0, path="", sentence=sentence)])

"""A study of ClinicalTrials.gov (API version 2, JSON) as a paper: titles, sponsor, summary, arms, outcomes, dates."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.literature.identifiers import normal_ids
from stateward.pipelines.literature.paper import (
    Author,
    Block,
    Journal,
    Kind,
    Metadata,
    Paper,
    Place,
    squeeze,
)

FORMAT = "trial"


class _Dated(msgspec.Struct, frozen=True):
    date: str = ""


class _Identification(msgspec.Struct, frozen=True, rename="camel"):
    nct_id: str = ""
    brief_title: str = ""
    official_title: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    overall_status: str = ""
    start_date_struct: _Dated = _Dated()
    completion_date_struct: _Dated = _Dated()
    study_first_post_date_struct: _Dated = _Dated()


class _Sponsor(msgspec.Struct, frozen=True):
    name: str = ""


class _Sponsors(msgspec.Struct, frozen=True, rename="camel"):
    lead_sponsor: _Sponsor = _Sponsor()


class _Description(msgspec.Struct, frozen=True, rename="camel"):
    brief_summary: str = ""
    detailed_description: str = ""


class _Conditions(msgspec.Struct, frozen=True):
    conditions: list[str] = []
    keywords: list[str] = []


class _Outcome(msgspec.Struct, frozen=True, rename="camel"):
    measure: str = ""
    description: str = ""
    time_frame: str = ""


class _Outcomes(msgspec.Struct, frozen=True, rename="camel"):
    primary_outcomes: list[_Outcome] = []
    secondary_outcomes: list[_Outcome] = []


class _Eligibility(msgspec.Struct, frozen=True, rename="camel"):
    eligibility_criteria: str = ""


class _Official(msgspec.Struct, frozen=True):
    name: str = ""
    affiliation: str = ""


class _Contacts(msgspec.Struct, frozen=True, rename="camel"):
    overall_officials: list[_Official] = []


class _Protocol(msgspec.Struct, frozen=True, rename="camel"):
    identification_module: _Identification = _Identification()
    status_module: _Status = _Status()
    sponsor_collaborators_module: _Sponsors = _Sponsors()
    description_module: _Description = _Description()
    conditions_module: _Conditions = _Conditions()
    outcomes_module: _Outcomes = _Outcomes()
    eligibility_module: _Eligibility = _Eligibility()
    contacts_locations_module: _Contacts = _Contacts()


class _Study(msgspec.Struct, frozen=True, rename="camel"):
    protocol_section: _Protocol


def read_trial(path: Path) -> Paper:
    """A study."""
    try:
        study = msgspec.json.decode(path.read_bytes(), type=_Study).protocol_section
    except (msgspec.DecodeError, RecursionError) as error:
        raise FatalFailure(
            f"the study is no JSON of ClinicalTrials.gov: {error}", code=CORRUPT_FILE
        ) from error
    names, status = study.identification_module, study.status_module
    dates = {
        "published": status.study_first_post_date_struct.date,
        "started": status.start_date_struct.date,
        "completed": status.completion_date_struct.date,
    }
    dates = {name: date for name, date in dates.items() if date}
    posted = dates.get("published", "")[:4]
    metadata = Metadata(
        format=FORMAT,
        title=squeeze(names.official_title or names.brief_title),
        ids=normal_ids([("nct", names.nct_id)]),
        type="clinical trial",
        authors=[
            Author(name=each.name, affiliations=tuple(filter(None, (each.affiliation,))))
            for each in study.contacts_locations_module.overall_officials
            if each.name
        ],
        journal=Journal(
            title="ClinicalTrials.gov",
            publisher=study.sponsor_collaborators_module.lead_sponsor.name,
        ),
        dates=dates,
        year=int(posted) if posted.isdecimal() else None,
        abstract=squeeze(study.description_module.brief_summary),
        keywords=study.conditions_module.keywords,
        subjects=study.conditions_module.conditions,
    )
    return Paper(metadata=metadata, blocks=list(_blocks(study, metadata)))


def _blocks(study: _Protocol, metadata: Metadata) -> Iterator[Block]:
    if metadata.title:
        yield _block("title", metadata.title)
    yield from _paragraphs("abstract", study.description_module.brief_summary, "Brief summary")
    yield from _paragraphs(
        "paragraph", study.description_module.detailed_description, "Detailed description"
    )
    yield from _paragraphs(
        "paragraph", study.eligibility_module.eligibility_criteria, "Eligibility"
    )
    outcomes = study.outcomes_module
    for name, measures in (
        ("Primary outcomes", outcomes.primary_outcomes),
        ("Secondary outcomes", outcomes.secondary_outcomes),
    ):
        if measures:
            yield _block("heading", name, level=1)
        for each in measures:
            parts = filter(None, (each.measure, each.description, each.time_frame))
            yield _block("list_item", squeeze(". ".join(parts)), (name,))


def _paragraphs(kind: Kind, text: str, heading: str) -> Iterator[Block]:
    parts = [part for part in map(squeeze, text.split("\n\n")) if part]
    if parts and kind != "abstract":
        yield _block("heading", heading, level=1)
    for part in parts:
        yield _block(kind, part, (heading,))


def _block(kind: Kind, text: str, section: tuple[str, ...] = (), *, level: int = 0) -> Block:
    return Block(kind=kind, text=text, section=section, level=level, where=Place())

"""What the runners do: `parse` reads a file, `validate` looks for faults, `build_ir` makes the intermediate form."""

from collections import Counter
from pathlib import Path

import msgspec

from stateward.core.model import NOTES, Fields, Json
from stateward.pipelines.literature import DOCUMENT, NETWORK_TYPES, SOURCE_TYPE
from stateward.pipelines.literature.ir import about_ir, ir_blocks
from stateward.pipelines.literature.options import JobOptions
from stateward.pipelines.literature.paper import Block, Metadata, Note
from stateward.pipelines.literature.parse import READER_VERSION, about_paper, read_paper
from stateward.pipelines.literature.validation import findings, require_sound
from stateward.workers.sdk import Batch, Job, Outcome

BATCH = 200
FINDINGS_MAX = 200
_TITLE_CHARS = 300


def parse(job: Job) -> Outcome:
    """A paper: its blocks are the items, its metadata is said about them."""
    paper = read_paper(source_path(job), JobOptions.read(job.options))
    metadata = paper.metadata
    job.log(
        f"read {len(paper.blocks)} blocks of {metadata.format}",
        title=metadata.title[:_TITLE_CHARS],
        ids=metadata.ids,
    )
    return Outcome(
        facts={
            "format": metadata.format,
            "blocks": len(paper.blocks),
            "reader": READER_VERSION,
        },
        items=[Batch(paper.blocks[at : at + BATCH]) for at in range(0, len(paper.blocks), BATCH)],
        about=about_paper(paper),
    )


def validate(job: Job) -> Outcome:
    """Findings; the paper goes on if it can be found and cited at all."""
    metadata, notes = _about(job)
    blocks = list(job.items(Block, "parse"))
    require_sound(metadata, blocks, require_id=JobOptions.read(job.options).require_id)
    found = list(findings(metadata, blocks, notes))
    counts = Counter(each.code for each in found)
    return Outcome(
        facts=_validated_facts(metadata, counts),
        items=found[:FINDINGS_MAX],
        about={"metadata": msgspec.to_builtins(metadata), "codes": dict(counts)},
    )


def build_ir(job: Job) -> Outcome:
    """Blocks with stable ids, and the hash of the whole."""
    metadata, _ = _about(job)
    blocks = ir_blocks(job.items(Block, "parse"))
    about = about_ir(metadata, blocks)
    return Outcome(
        facts={"ir_version": about.version, "ir_sha256": about.sha256},
        items=[Batch(blocks[at : at + BATCH]) for at in range(0, len(blocks), BATCH)],
        about=msgspec.to_builtins(about),
    )


def _about(job: Job) -> tuple[Metadata, list[Note]]:
    about = job.about("parse")
    return (
        msgspec.convert(about["metadata"], Metadata),
        msgspec.convert(about.get("notes") or [], list[Note]),
    )


def _validated_facts(metadata: Metadata, counts: Counter[str]) -> Fields:
    facts: dict[str, Json] = {"title": metadata.title[:_TITLE_CHARS]}
    facts |= {scheme: value for scheme, value in metadata.ids.items() if scheme != "publisher"}
    if metadata.year is not None:
        facts["year"] = metadata.year
    if counts:
        facts[NOTES] = [
            f"{code} ({count})" if count > 1 else code for code, count in sorted(counts.items())
        ]
    return facts


def source_path(job: Job) -> Path:
    """The file to read: what was fetched, or the one that was submitted."""
    if job.labels.get(SOURCE_TYPE) in NETWORK_TYPES:
        return job.file("fetch", DOCUMENT)
    if job.path is not None:
        return job.path
    path = job.scratch / "document"
    path.write_bytes(job.bytes())
    return path

"""The intermediate form of a paper: one JSON document, the same for every format, versioned and deterministic.

    {"version": "stateward.paper/1",
     "source": {"format": "jats", "record_id": "LT_…"},
     "metadata": {…}, "blocks": [{"id": "b_…", "kind": "paragraph", "text": …, "section": […], "where": {…}}, …],
     "references": ["b_…", …], "sha256": "…"}

A block's id is derived from its kind, its section and its text, and from how many equal ones stand before it: inserting
a paragraph changes no other id. `sha256` is that of the canonical JSON of metadata and blocks (keys sorted, no blanks),
so that the same bytes, read by the same version, have the same hash. docs/pipelines/literature.md describes every key.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from stateward.core.model import Fields, plural
from stateward.pipelines.literature.paper import Block, Metadata

VERSION = "stateward.paper/1"
ID_CHARS = 16


class IrBlock(Block, kw_only=True, omit_defaults=True):
    """A block with its id and its place in the reading order, from 1."""

    id: str = ""
    number: int = 0


class IrAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of the blocks as a whole."""

    version: str
    sha256: str
    metadata: Metadata
    section_titles: list[str]
    counts: dict[str, int]
    summary: str


def ir_blocks(blocks: Iterable[Block]) -> list[IrBlock]:
    """Blocks with their ids."""
    seen: Counter[bytes] = Counter()
    made: list[IrBlock] = []
    for number, block in enumerate(blocks, start=1):
        key = "\x00".join(
            (block.kind, block.part, *block.section, "", block.label, block.text)
        ).encode()
        seen[key] += 1
        digest = sha256(key + b"\x00%d" % seen[key]).hexdigest()
        fields = {name: getattr(block, name) for name in Block.__struct_fields__}
        made.append(IrBlock(**fields, id=f"b_{digest[:ID_CHARS]}", number=number))
    return made


def about_ir(metadata: Metadata, blocks: list[IrBlock]) -> IrAbout:
    """The version, the hash and the counts of an intermediate form."""
    counts: Counter[str] = Counter(block.kind for block in blocks if not block.part)
    return IrAbout(
        version=VERSION,
        sha256=_hash(metadata, blocks),
        metadata=metadata,
        section_titles=[each.text for each in blocks if _is_section(each)],
        counts=dict(sorted(counts.items())),
        summary=_summary(counts),
    )


def _summary(counts: Mapping[str, int]) -> str:
    """How much there is, in a few words."""
    kinds = ("heading", "paragraph", "table", "figure", "reference")
    nouns = {"heading": "section"}
    parts = [plural(counts[kind], nouns.get(kind, kind)) for kind in kinds if counts.get(kind)]
    return ", ".join(parts) or "an abstract" if counts.get("abstract") or parts else "a title"


def _is_section(block: Block) -> bool:
    return block.kind == "heading" and not block.part and not block.of


def _hash(metadata: Metadata, blocks: list[IrBlock]) -> str:
    canonical = msgspec.json.encode([VERSION, metadata, blocks], order="sorted")
    return sha256(canonical).hexdigest()


def ir_document(record_id: str, about: Fields, blocks: list[Fields]) -> Fields:
    """The whole form as one document, from what a record keeps of it."""
    metadata = about["metadata"]
    return {
        "version": about["version"],
        "source": {
            "record_id": record_id,
            "format": metadata.get("format") if isinstance(metadata, dict) else None,
        },
        "sha256": about["sha256"],
        "metadata": metadata,
        "blocks": list(blocks),
        "references": [
            each["id"] for each in blocks if each["kind"] == "reference" and not each.get("part")
        ],
    }

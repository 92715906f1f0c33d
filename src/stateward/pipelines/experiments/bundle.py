"""The bundle of published data: one ZIP file with all that another person needs to check and to cite them.

The same published record gives the same bytes, always: entries in a fixed order, without times, not compressed.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from typing import Protocol

import msgspec

from stateward.core.model import Fields

PUBLISHED = "published"
SUMS, APPROVAL, CITATION = "SHA256SUMS", "publication.json", "CITATION.cff"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that ZIP can say
READABLE = 0o644 << 16


class Approval(Protocol):
    """The transition by which a person published the data."""

    @property
    def at(self) -> str: ...

    @property
    def actor(self) -> str: ...

    @property
    def hash(self) -> str: ...


def publication_of(record_id: str, approval: Approval) -> Fields:
    """Who published a record, and when."""
    return {
        "record_id": record_id,
        "published_at": str(approval.at),
        "published_by": approval.actor,
        "transition": approval.hash,
    }


def make_bundle(files: Mapping[str, bytes], publication: Fields) -> bytes:
    """A ZIP of derived files, who published them and when, how to cite them, and the SHA-256 of each."""
    entries = dict(files)
    entries[APPROVAL] = _json(publication)
    entries[CITATION] = _citation(files, publication)
    lines = [f"{hashlib.sha256(entries[name]).hexdigest()}  {name}\n" for name in sorted(entries)]
    entries[SUMS] = "".join(lines).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system, info.external_attr = 3, READABLE  # the same wherever it is made
            archive.writestr(info, entries[name])
    return out.getvalue()


def _citation(files: Mapping[str, bytes], publication: Fields) -> bytes:
    """A Citation File (CFF 1.2.0), from what the data package says of itself."""
    package = msgspec.json.decode(files.get("datapackage.json", b"{}"))
    provenance = msgspec.json.decode(files.get("provenance.json", b"{}"))
    people = package.get("contributors") or []
    names = [
        str(each.get("title")) for each in people if isinstance(each, dict) and each.get("title")
    ]
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these data, please cite them as below.",
        "type: dataset",
        f"title: {_quote(package.get('title') or package.get('name') or 'Research data')}",
        "authors:",
        *(f"  - name: {_quote(name)}" for name in names or ["Unknown"]),
        f"date-released: {_quote(str(publication.get('published_at', ''))[:10])}",
        "identifiers:",
        "  - type: other",
        f"    value: {_quote(publication.get('record_id'))}",
        "  - type: other",
        f"    value: {_quote(provenance.get('document', ''))}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _quote(value: object) -> str:
    return msgspec.json.encode(str(value)).decode()


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"

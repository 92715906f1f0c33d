"""Derived files: bytes that a stage makes of a document, such as a picture, a searchable PDF or a bundle.

A stage saves a file under a name; the bytes are an artifact, stored once under their SHA-256. The name belongs to the
attempt that saved it, so a later attempt at the stage replaces the set as a whole. What names and media types may be is
said here alone: runners, workers, the API and the command line ask these functions. Pure.
"""

import re

import msgspec

FILE_NAME_CHARS_MAX = 200
MEDIA_TYPE_CHARS_MAX = 100
REFERENCE_PREFIX = "sha256:"

# No separator, no leading dot, no space, nothing that a shell, a header, a URL or a file system reads in its own way.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class DerivedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a stage derived from its document."""

    name: str
    media_type: str
    size: int
    sha256: str

    @property
    def reference(self) -> str:
        """What a runner gets and may report as a fact: `sha256:…`."""
        return REFERENCE_PREFIX + self.sha256


class SavedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A derived file of a record, with the stage and the attempt that saved it."""

    stage: str
    attempt: int
    file: DerivedFile

    @property
    def path(self) -> str:
        """How an item's `where.file` and the command line name it: `stage/name`."""
        return f"{self.stage}/{self.file.name}"


def file_fault(file: DerivedFile) -> str | None:
    """What is wrong with a derived file that a process claims to have made; None if nothing is."""
    if file.size < 0 or not _DIGEST.fullmatch(file.sha256):
        return "its size or its SHA-256 is none"
    return name_fault(file.name) or media_type_fault(file.media_type)


def name_fault(name: str) -> str | None:
    """Why this cannot be the name of a derived file; None if it can."""
    if len(name) <= FILE_NAME_CHARS_MAX and _NAME.fullmatch(name):
        return None
    return (
        f"{name[:FILE_NAME_CHARS_MAX]!r} cannot be the name of a file: give 1 to {FILE_NAME_CHARS_MAX} letters (a-z), "
        "digits, dots, hyphens and underscores, not beginning with a dot or a hyphen"
    )


def media_type_fault(media_type: str) -> str | None:
    """Why this cannot be a media type; None if it can."""
    if len(media_type) <= MEDIA_TYPE_CHARS_MAX and _MEDIA_TYPE.fullmatch(media_type):
        return None
    return (
        f"{media_type[:MEDIA_TYPE_CHARS_MAX]!r} is no media type: write it as in image/png, in small letters and "
        "without parameters"
    )

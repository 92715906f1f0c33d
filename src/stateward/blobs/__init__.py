"""Artifacts: bytes stored once under their SHA-256, in a folder or in object storage.

`ArtifactStore` is what the rest of the program may do with them; `folder.Folder` and `objects.ObjectStorage` are the
two implementations, and one test suite holds for both.
"""

from stateward.blobs.folder import (
    PIECE_BYTES,
    Announcement,
    Artifact,
    ArtifactStore,
    CopyFolder,
    Folder,
    Incoming,
    TooLarge,
    pieces_of,
)

__all__ = [
    "PIECE_BYTES",
    "Announcement",
    "Artifact",
    "ArtifactStore",
    "CopyFolder",
    "Folder",
    "Incoming",
    "TooLarge",
    "pieces_of",
]

"""The seal of an output: two digests that the transition at the end of an attempt carries in its metadata.

`output_digest` is the SHA-256 of the UTF-8 text of a compact JSON array of these values in this order:

    [stage, outcome, count, facts, error_code, error_message, is_retryable, worker, at, chunks, files]

`facts` is the JSON text as it is stored, `at` whole microseconds, `chunks` an array of [count, SHA-256 of the chunk's
text] in the order of the items, and `files` one of [name, media type, size, SHA-256] in the order of saving.
`log_digest` is the SHA-256 of the log, absent where the log is empty. They are apart so that a log can be deleted
while the items can still be verified.

An erasure of the items without the contents leaves results, and one of the contents without the items leaves items;
neither fits its digest any more. The transition that erased them has `left_digest`: the SHA-256 of a compact JSON array
of [version, digest] for each output of which something is left, in the order of versions. The digest is the one above,
of what is left: facts `{}` and no message, chunks and files; or no values but chunks and files.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

_encode = msgspec.json.Encoder().encode

OUTPUT_DIGEST, LOG_DIGEST, LEFT_DIGEST = "output_digest", "log_digest", "left_digest"

ChunkDigest = tuple[int, str]
FileFacts = tuple[str, str, int, str]


class OutputSeal(msgspec.Struct, frozen=True, gc=False):
    """The digests of what an attempt left; `log` is None where it left no log.

    `is_bare`: nothing is stored with it that an erasure of items deletes.
    """

    output: str
    log: str | None = None
    is_bare: bool = False


def chunk_digest(count: int, data: str) -> ChunkDigest:
    """What the seal of an output holds of one chunk of its items."""
    return count, sha256(data.encode()).hexdigest()


def seal_output(
    result: Sequence[object], chunks: Sequence[ChunkDigest], files: Iterable[FileFacts], *, log: str
) -> OutputSeal:
    """The seal of a result with its items, files and log; `result` are the first nine values."""
    text = _encode((*result, chunks, tuple(files)))
    return OutputSeal(sha256(text).hexdigest(), log_digest(log))


def left_digest(outputs: Iterable[tuple[int, str]]) -> str:
    """The digest of what an erasure left of outputs, each with its version."""
    return sha256(_encode(sorted(outputs))).hexdigest()


def log_digest(log: str) -> str | None:
    return sha256(log.encode()).hexdigest() if log else None

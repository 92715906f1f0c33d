"""The hash chain over the lines of the log: how a line is sealed, checked, and found again after damage.

    h_i = first 32 hex digits of SHA-256(h_(i-1) ‖ text of line i before `,"h":"`);  h_0 is 32 zeros

What is hashed is the text as it stands in the file, so no canonical form of JSON is needed, and the hex digits
are hashed as the ASCII that they are, so nine lines of shell with `sha256sum` can check a file. The seal has a
fixed width at the end of the line, so checking is slicing. The 32 digits before a line are all that its check
needs, so any line can be checked alone, wherever it stands.

A *torn tail* (an unacknowledged write that a crash cut short) and *damage* (acknowledged bytes that changed) look
the same at the first bad byte. What follows tells them apart: a later line that matches its own predecessor and has
`seq - n` at or after the bad line's seq was written when the bad line was already durable. `HEAD` says the same for
the last group. See `delta.durability_proof`.

128 bits are enough: an attacker who can rewrite the log can also recompute every hash, so the chain alone is no
proof against the owner of the disk, whatever its width. That is what checkpoints are for (see `checkpoints`).

Nothing here touches a disk.
"""

from collections.abc import Iterator
from hashlib import sha256

GENESIS = b"0" * 32
SEAL_START = b',"h":"'
SEAL_END = b'"}\n'
DIGITS = 32
SEAL_BYTES = len(SEAL_START) + DIGITS + len(SEAL_END)
"""The seal with the newline."""
PREVIOUS_BYTES = DIGITS + len(SEAL_END)
"""How far before the start of a line the digits begin that it is chained to."""
_NUMBERS_BYTES_MAX = 64
"""`,"seq":<20 digits>,"n":<20 digits>` is shorter than this."""


def seal(body: bytes, previous: bytes) -> tuple[bytes, bytes]:
    """The whole line for a JSON object without its closing brace, and the new head of the chain."""
    head = sha256(previous + body).hexdigest()[:DIGITS].encode()
    return body + SEAL_START + head + SEAL_END, head


def head_of(line: bytes) -> bytes:
    """The head of the chain after a line that has been checked."""
    return line[-PREVIOUS_BYTES : -len(SEAL_END)]


def check(line: bytes, previous: bytes) -> bytes | None:
    """The head of the chain after `line` (with its newline), or None if it is not what was sealed."""
    head = sha256(previous + line[:-SEAL_BYTES]).hexdigest()[:DIGITS].encode()
    return head if line[-SEAL_BYTES:] == SEAL_START + head + SEAL_END else None


def valid_prefix(data: bytes, previous: bytes) -> list[bytes]:
    """The complete lines at the start of `data` that continue the chain, with their newlines.

    The same as `check` line by line, but written out: a replay of the log spends most of its time here.
    """
    lines: list[bytes] = []
    # Splits at a carriage return too, but JSON escapes that one: what it stands in is no line of ours.
    for line in data.splitlines(keepends=True):
        head = sha256(previous + line[:-SEAL_BYTES]).hexdigest()[:DIGITS].encode()
        if line[-SEAL_BYTES:] != SEAL_START + head + SEAL_END:
            break
        lines.append(line)
        previous = head
    return lines


def position_of(line: bytes) -> tuple[int, int] | None:
    """`seq` and `n` of a line, read from its end; None if it does not end as lines do."""
    start = line.rfind(b',"seq":', max(0, len(line) - SEAL_BYTES - _NUMBERS_BYTES_MAX))
    parts = line[start + 7 : -SEAL_BYTES].split(b',"n":') if start >= 0 else []
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def consistent_lines_after(tail: bytes, *, first_bad: int) -> Iterator[tuple[int, int]]:
    """(seq, n) of the lines behind the first bad byte that match their own predecessor.

    `tail` starts at the first bad line, whose seq would be `first_bad`.
    """
    at = tail.find(b"\n") + 1
    while 0 < at < len(tail):
        end = tail.find(b"\n", at) + 1
        if not end:
            return
        previous = tail[at - PREVIOUS_BYTES : at - len(SEAL_END)] if at >= PREVIOUS_BYTES else b""
        line = tail[at:end]
        if len(line) > 1 and check(line, previous) is not None:
            position = position_of(line)
            if position is not None and position[0] >= first_bad:
                yield position
        at = end

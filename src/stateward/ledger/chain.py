"""The hash chain of the log: how a line is sealed, checked, and found again after damage.

    h_i = SHA-256(h_(i-1) ‖ text of line i before `,"h":"`), the first 32 hex digits; h_0 is 32 zeros

Hex digits are hashed as the ASCII they are, so nine lines of shell and `sha256sum` can check a file, and
no canonical form of JSON is needed: what is hashed is what stands there. The seal has a fixed width at
the end of the line, so checking is slicing; and the 32 digits before a line are all that its check needs,
so any line can be checked alone, wherever it is.

A *torn tail* and *damage* look the same at the first bad byte. What follows tells them apart: a later line
that is consistent with its own predecessor and has `seq - n` at or past the first bad one was written when
the bad one was already durable. `HEAD` says the same for the last group. See `delta.classify`.

Nothing here touches a disk.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import count, takewhile

GENESIS = b"0" * 32
SEAL_START = b',"h":"'
SEAL_END = b'"}\n'
DIGITS = 32
SEAL_BYTES = len(SEAL_START) + DIGITS + len(SEAL_END)
"""The seal with the newline."""
_NUMBERS = re.compile(rb',"seq":([0-9]+),"n":[0-9]+,"h":"[0-9a-f]{32}"\}\n')
"""The end of a line; nothing else in it can look like this, for no line has a newline in it."""
_CLOSED = SEAL_END[:-1]
_UNSEALED = SEAL_BYTES - 1
PREVIOUS_BYTES = DIGITS + len(SEAL_END)
"""How far before the start of a line the digits begin that it is chained to."""


def seal(body: bytes, previous: bytes) -> tuple[bytes, bytes]:
    """The whole line for a JSON object without its closing brace, and the new head of the chain."""
    head = sha256(previous + body).hexdigest()[:DIGITS].encode()
    return body + SEAL_START + head + SEAL_END, head


def check(line: bytes, previous: bytes) -> bytes | None:
    """The head of the chain after `line` (with its newline), or None if it is not what was sealed."""
    head = sha256(previous + line[:-SEAL_BYTES]).hexdigest()[:DIGITS].encode()
    return head if line[-SEAL_BYTES:] == SEAL_START + head + SEAL_END else None


def sound(data: bytes, previous: bytes) -> list[bytes]:
    """The lines at the start of `data` that continue the chain, with their newlines: `check` for many, written out."""
    lines: list[bytes] = []
    for text in data.split(b"\n")[:-1]:
        head = sha256(previous + text[:-_UNSEALED]).hexdigest()[:DIGITS].encode()
        if text[-_UNSEALED:] != SEAL_START + head + _CLOSED:
            break
        lines.append(text + b"\n")
        previous = head
    return lines


def place_of(line: bytes) -> tuple[int, int] | None:
    """`seq` and `n` of a line, read from its end; None if it does not end as lines do."""
    start = line.rfind(b',"seq":', max(0, len(line) - SEAL_BYTES - 64))
    parts = line[start + 7 : -SEAL_BYTES].split(b',"n":') if start >= 0 else []
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def numbered(lines: list[bytes], seq: int) -> list[bytes]:
    """Those at the start whose numbers go on from `seq`."""
    found = _NUMBERS.findall(b"".join(lines))
    if list(map(int, found)) == list(range(seq, seq + len(lines))):
        return lines
    return [
        line
        for line, _ in takewhile(
            lambda each: (place_of(each[0]) or (-1,))[0] == each[1], zip(lines, count(seq))
        )
    ]


def consistent_after(tail: bytes, *, first_bad: int) -> Iterator[tuple[int, int, int]]:
    """Lines behind the first bad byte that match their own predecessor: (offset, seq, n).

    `tail` starts at the first bad line, whose seq would be `first_bad`.
    """
    at = tail.find(b"\n") + 1
    while 0 < at < len(tail):
        end = tail.find(b"\n", at) + 1
        if not end:
            return
        previous = tail[at - PREVIOUS_BYTES : at - 3] if at >= PREVIOUS_BYTES else b""
        line = tail[at:end]
        if check(line, previous) is not None:
            place = place_of(line)
            if place is not None and place[0] >= first_bad:
                yield at, *place
        at = end

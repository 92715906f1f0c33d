"""Whether a JSON text names a key twice: one reader takes the first value, another the last, and hashes are of one.

Nothing here writes such a text. It reads slowly: callers look first whether a text is what they would write.
"""


def names_a_key_twice(text: str | bytes) -> bool:
    """Whether any object in this text, which is JSON, has two values for one key."""
    import json  # here: most commands read no such text

    try:
        json.loads(text, object_pairs_hook=_refuse_doubled)
    except _DoubledKey:
        return True
    return False


class _DoubledKey(Exception):
    """A key stands twice in one object."""


def _refuse_doubled(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _DoubledKey

"""Compares the rows that no transition binds with their seals in the audit log (`storage.row_seals`)."""

from collections import Counter
from collections.abc import Iterable, Iterator

from stateward.core.verify import Finding
from stateward.storage.audit import SEALED, AuditEntry, AuditLog
from stateward.storage.row_seals import DEAD_LETTERS, DISPOSITIONS, EDITIONS, ERASED
from stateward.storage.store import Store

Digests = Counter[tuple[str, str]]
NAMES = {
    DISPOSITIONS: "events that changed nothing",
    DEAD_LETTERS: "dead letters",
    EDITIONS: "editions",
}


def check_rows(store: Store, audit: AuditLog) -> Iterator[Finding]:
    """Rows that were changed, deleted or doubled. Work may go on meanwhile.

    The seals are read before the rows and once more behind them: what came or went in between is in the second part.
    """
    head = audit.head().count
    written, erased = _seals(each for each in audit.walk(verb=SEALED) if (each.seq or 0) <= head)
    missing = written - erased
    unknown: list[tuple[str, str, str]] = []
    for kind, where, digest in store.row_digests():
        if missing[kind, digest] > 0:
            missing[kind, digest] -= 1
        else:
            unknown.append((kind, where, digest))
    written, erased = _seals(audit.walk(verb=SEALED, after=head))
    for kind, where, digest in unknown:
        if written[kind, digest] > 0:
            written[kind, digest] -= 1
        else:
            yield Finding(
                check="sealed", where=where, sentence="it was changed, doubled or invented"
            )
    for kind, name in NAMES.items():
        count = sum(number for (own, _), number in (missing - erased).items() if own == kind)
        if count:
            yield Finding(check="sealed", where=name, sentence=f"{count} were changed or deleted")


def _seals(entries: Iterable[AuditEntry]) -> tuple[Digests, Digests]:
    """The digests that the audit log has of rows that were written, and of rows that were erased."""
    written, erased = Digests(), Digests()
    for entry in entries:
        for name, digests in entry.detail.items():
            kind = name.removeprefix(ERASED)
            found = erased if name != kind else written
            found.update(
                (kind, str(each)) for each in (digests if isinstance(digests, list) else ())
            )
    return written, erased

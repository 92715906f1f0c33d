"""Documents of an old ledger that are not finished, as papers to add: each by the identifier that its name is.

What is finished stays in the ledger as history. A ledger keeps states and no text, so that a document that had been
parsed elsewhere begins here at `pending` again; the reason in its history says where it was.
"""

from collections.abc import Iterator
from pathlib import Path

from stateward.ledger import Ledger, LedgerDocument, is_terminal
from stateward.pipelines.literature.lists import ListedPaper, entry_of

ID_KEYS = ("pmcid", "pmid", "doi", "arxiv", "nct", "identifier", "url", "source_url")


def unfinished_papers(folder: Path) -> Iterator[tuple[ListedPaper, str]]:
    """Every document of a ledger that has not ended, as an entry, and the state that it is in."""
    with Ledger.open(folder, read_only=True) as ledger:
        for document in ledger.documents():
            if not is_terminal(document.state):
                yield _entry(document), str(document.state)


def _entry(document: LedgerDocument) -> ListedPaper:
    """By its own name, else by what its metadata says; else refused, with what is missing."""
    entry = entry_of(document.doc_id)
    for key in ID_KEYS:
        value = document.metadata.get(key)
        if entry.name is None and isinstance(value, str):
            entry = entry_of(
                value if key in ("identifier", "url", "source_url") else f"{key}:{value}"
            )
    return entry

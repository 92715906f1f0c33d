"""Documents of an old ledger that are not finished: where each is taken up, and what it is taken up from.

A ledger keeps states and no text. So a document goes on where it was only as far as there is something to go on with:
from its file at `fetched`, from its identifier at `pending`. What came after is made anew, and the note of each
document says so. What has ended stays in the ledger as history.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.ledger import Ledger, LedgerDocument, LedgerState, is_terminal
from stateward.pipelines.literature.lists import ListedPaper, entry_of

ID_KEYS = ("pmcid", "pmid", "doi", "arxiv", "nct", "identifier", "url", "source_url")
FILE_KEYS = ("path", "file", "file_path", "filename", "pdf_path", "local_path", "source_path")
SUFFIXES = (".xml", ".nxml", ".pdf", ".html", ".htm", ".xhtml", ".txt")
"""Of files of one document, the one that says most of it."""
UNFETCHED = (LedgerState.PENDING, LedgerState.FETCHING)
_BEGUN_ANEW = {
    (LedgerState.FETCHING, LedgerState.PENDING),
    (LedgerState.PARSING, LedgerState.FETCHED),
}
"""A step that was under way, or had failed, and the state in which it waits to begin."""


class UnfinishedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A document that has not ended: where it was, its file if that is here, and where it goes on."""

    entry: ListedPaper
    was: str
    step: str
    file: Path | None
    begins: str

    def note(self) -> str:
        """Why it begins elsewhere than it was, or what it needs of a person; "" if there is nothing to say."""
        begins = self.begins
        if begins == LedgerState.LEGACY:
            return "its old state could not be mapped: adopt it by its ID, or skip it"
        if begins == self.was:
            return ""
        if (self.step, begins) in _BEGUN_ANEW:
            why = "the step that was under way begins anew"
        elif self.file is not None:
            why = f"what came after is made anew from {self.file.name}"
        else:
            why = "a ledger keeps no text, and no file of it is here, so that it is fetched again"
        return f"it was {self.was} and begins at {begins}: {why}"


def unfinished_papers(folder: Path, files: Path | None = None) -> Iterator[UnfinishedPaper]:
    """Every document of a ledger that has not ended; `files` is where its documents are kept."""
    by_stem = {} if files is None else _files_by_stem(files)
    with Ledger.open(folder, read_only=True) as ledger:
        for document in ledger.documents():
            if not is_terminal(document.state):
                file = None if files is None else _file_of(document, files, by_stem)
                yield _paper_of(document, file)


def _paper_of(document: LedgerDocument, file: Path | None) -> UnfinishedPaper:
    is_retrying = document.state == LedgerState.RETRYING
    step = (document.resume if is_retrying else document.state) or LedgerState.FETCHING
    begins = LedgerState.PENDING
    if document.state == LedgerState.LEGACY:
        begins = LedgerState.LEGACY
    elif file is not None and step not in UNFETCHED:
        begins = LedgerState.FETCHED
    entry = replace(_entry(document), is_legacy=begins == LedgerState.LEGACY)
    return UnfinishedPaper(
        entry=entry, was=str(document.state), step=str(step), file=file, begins=str(begins)
    )


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


def _files_by_stem(folder: Path) -> dict[str, Path]:
    found = [each for each in folder.iterdir() if each.suffix.lower() in SUFFIXES]
    found.sort(key=lambda each: (SUFFIXES.index(each.suffix.lower()), each.name), reverse=True)
    return {each.stem: each for each in found}


def _file_of(document: LedgerDocument, folder: Path, by_stem: Mapping[str, Path]) -> Path | None:
    """The file that its metadata or its name leads to. A ledger may name any path: only those inside `folder` count."""
    said = [document.metadata.get(key) for key in FILE_KEYS]
    named = [Path(each) for each in said if isinstance(each, str) and each and "\0" not in each]
    # Where the corpus has moved, the last part of a path still finds the file.
    paths = [path for each in named for path in (folder / each, folder / each.name)]
    name = document.doc_id
    stems = (name, name.replace(":", "_").replace("/", "_"), name.rpartition(":")[2])
    paths += [by_stem[each] for each in stems if each in by_stem]
    inside = folder.resolve()
    return next((each for each in paths if _is_file_in(each, inside)), None)


def _is_file_in(path: Path, folder: Path) -> bool:
    try:
        return path.is_file() and path.resolve().is_relative_to(folder)
    except (OSError, ValueError):  # a text that is too long for a path, or one that may not be read
        return False

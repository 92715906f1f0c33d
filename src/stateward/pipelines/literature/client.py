"""The client of `/literature`: lists of papers in, how far they are, citations and intermediate forms."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from stateward.client import Client, Operations
from stateward.client.steps import Source, Steps, form_fields, part
from stateward.pipelines.literature.lists import ListedPaper
from stateward.pipelines.literature.papers import (
    AddedPaper,
    AddedPapers,
    Citations,
    SamePaper,
    SamePapers,
)
from stateward.pipelines.literature.progress import Progress


class LiteratureOperations(Operations):
    """Every operation of a service that also reads papers, each defined once for every kind of client."""

    def literature_status(self) -> Progress:
        """Papers by source and state, and their pace."""
        return self._get("/literature/status", Progress)

    def same_papers(self) -> list[SamePaper]:
        """Papers that have several records."""
        return self._list("/literature/duplicates", SamePapers)

    def intermediate_form(self, record_id: str) -> dict[str, Any]:
        """The intermediate form of a paper as one document."""
        return self._get(f"/literature/{part(record_id)}/ir", dict[str, Any])

    def citations(
        self, ids: Sequence[str], *, format_: Literal["bibtex", "ris", "csl-json"] = "bibtex"
    ) -> Citations:
        """Papers as citations, in one text."""
        asked = {"id": list(ids), "format": format_}
        return self._get("/literature/citations", Citations, params=asked)

    def add_papers(
        self, papers: Sequence[ListedPaper], *, reason: str | None = None, is_filtered: bool = True
    ) -> list[AddedPaper]:
        """A record for every entry of a list, at most 100; unless told otherwise by the filters of the server.

        Without its filters, a paper that a record has already under another identifier is that record.
        """
        asked = {"papers": list(papers), "reason": reason, "is_filtered": is_filtered}

        def steps() -> Steps[list[AddedPaper]]:
            return (yield from self._post_steps("/literature/papers", asked, AddedPapers)).items

        return self._run(steps())

    def adopt_paper(
        self,
        source: Source,
        *,
        labels: Mapping[str, str] | None = None,
        begins: str = "pending",
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> AddedPaper:
        """The record of a paper of an old ledger, from its file; it begins at `pending`, `fetched` or `legacy`.

        One that a record has already, by its file or an identifier in `labels`, is `known`.
        """
        return self._send(
            "/literature/adopted",
            source,
            AddedPaper,
            fields=form_fields(labels=labels, priority=None, reason=reason),
            params={"begins": begins},
            key=idempotency_key,
        )


class LiteratureClient(LiteratureOperations, Client):
    """A connection to a Stateward service that also reads papers."""

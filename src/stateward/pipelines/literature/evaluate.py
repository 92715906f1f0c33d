"""How exactly papers are read: each compared with its truth, field by field.

The truth of a file is what stands beside it (see `TruthFiles`). A JATS or PubMed file without any is compared with what
plain XPath of the standard library finds in it: another reading of the same file, by other code. That shows what the
reader loses or adds; it cannot show what both misunderstand.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from stateward.core.model import Fields, Micros
from stateward.pipelines.kit.evaluation import DocumentScore, StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping
from stateward.pipelines.literature.ir import IrAbout
from stateward.pipelines.literature.paper import squeeze

SUFFIXES = frozenset({".xml", ".nxml", ".pdf", ".html", ".htm", ".xhtml", ".txt"})
STAGES = {
    "fetch": "literature.fetch",
    "parse": "literature.parse",
    "validate": "literature.validate",
    "build_ir": "literature.build_ir",
}
NAME_PARTS = ("ForeName", "LastName", "Suffix")
FIELDS = ("ids", "title", "authors", "abstract", "section_titles", "references")
BESIDE_TRUTH, OWN_XML = "truth", "xpath"


class JudgedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """One paper: which fields are exact, which are wrong, and with what it was compared."""

    file: str
    compared_with: str
    exact: tuple[str, ...]
    wrong: tuple[str, ...]
    notes: tuple[str, ...] = ()
    failure: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether everything that is known of it was read."""
        return not self.wrong and not self.failure

    @property
    def is_silent(self) -> bool:
        """Whether it is wrong and nothing says so."""
        return not self.is_exact and not self.notes and not self.failure


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A folder."""

    papers: list[JudgedPaper]
    no_truth: list[str]

    def total(self) -> DocumentScore:
        """All papers."""
        total = DocumentScore()
        for each in self.papers:
            is_flagged = bool(each.notes or each.failure)
            total.add(DocumentScore.of(is_exact=each.is_exact, is_flagged=is_flagged))
        return total


def evaluate(
    folder: Path, *, now: Callable[[], Micros], tell: Callable[[str], object]
) -> Evaluated:
    """Read every paper below a folder and compare it with its truth."""
    from stateward.pipelines.literature import runners as _runners  # noqa: F401 - registers them

    truths = TruthFiles(folder)
    papers: list[JudgedPaper] = []
    no_truth: list[str] = []
    for path in documents_in(folder, SUFFIXES):
        name = path.relative_to(folder).as_posix()
        told = truths.of(path)
        truth = (
            own_truth(path) if told is None else _written_truth(mapping(told.value, told.source))
        )
        if truth is None:
            no_truth.append(name)
            continue
        tell(name)
        run = run_stages(path, STAGES, now=now)
        source = OWN_XML if told is None else BESIDE_TRUTH
        papers.append(_judge(name, run, truth, source))
    return Evaluated(papers=papers, no_truth=no_truth)


def _judge(name: str, run: StagesRun, truth: Mapping[str, object], source: str) -> JudgedPaper:
    if run.failure is not None:
        return JudgedPaper(
            file=name,
            compared_with=source,
            exact=(),
            wrong=tuple(truth),
            failure=run.failure.message,
        )
    found = found_fields(_about(run), list(run.items("build_ir")))
    exact = tuple(field for field, value in truth.items() if found[field] == value)
    notes = run.completed["validate"].facts.get("notes") or []
    return JudgedPaper(
        file=name,
        compared_with=source,
        exact=exact,
        wrong=tuple(field for field in truth if field not in exact),
        notes=tuple(map(str, notes if isinstance(notes, list) else [])),
    )


def _about(run: StagesRun) -> Fields:
    for chunk in run.completed["build_ir"].chunks:
        value = msgspec.json.decode(chunk.data)
        if isinstance(value, dict):
            return value
    return {}


def found_fields(about: Fields, blocks: list[Fields]) -> dict[str, object]:
    """What was read, in the form in which truths tell it."""
    read = msgspec.convert(about, IrAbout)
    return {
        "ids": {
            scheme: value for scheme, value in read.metadata.ids.items() if scheme != "publisher"
        },
        "title": read.metadata.title,
        "authors": [each.name for each in read.metadata.authors],
        "abstract": squeeze(read.metadata.abstract),
        "section_titles": read.section_titles,
        "references": sum(each["kind"] == "reference" and not each.get("part") for each in blocks),
    }


def _written_truth(told: Mapping[str, object]) -> dict[str, object]:
    """The truth that a person wrote down: of each field only what it names."""
    truth = {field: told[field] for field in FIELDS if field in told}
    if isinstance(truth.get("abstract"), str):
        truth["abstract"] = squeeze(str(truth["abstract"]))
    return truth


# Another reading of XML, by the standard library


def own_truth(path: Path) -> dict[str, object] | None:
    """What plain XPath finds in a JATS or PubMed file; None for other files."""
    if path.suffix.lower() not in (".xml", ".nxml"):
        return None
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - files of an evaluation are one's own
    except ET.ParseError:
        return None
    if root.tag == "PubmedArticleSet":
        return _pubmed_truth(root)
    article = root if root.tag == "article" else root.find(".//article")
    return None if article is None else _jats_truth(article)


def _jats_truth(article: ET.Element) -> dict[str, object]:
    meta = article.find("front/article-meta")
    if meta is None:
        return {}
    names = {"pmid": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "doi": "doi", "arxiv": "arxiv"}
    ids = {
        names[kind]: _text(each)
        for each in meta.findall("article-id")
        if (kind := each.get("pub-id-type", "")) in names
        and each.get("specific-use") != "version"  # each version has a DOI beside that of the paper
    }
    if "pmcid" in ids:
        ids["pmcid"] = "PMC" + ids["pmcid"].removeprefix("PMC")
    return {
        "ids": ids,
        "title": _whole_title(meta),
        "authors": list(_jats_authors(meta)),
        "abstract": _jats_abstract(meta),
        "section_titles": list(_jats_titles(article)),
        "references": sum(len(back.findall(".//ref-list/ref")) for back in article.findall("back")),
    }


def _jats_authors(meta: ET.Element) -> Iterator[str]:
    for contrib in meta.findall("contrib-group/contrib"):
        if contrib.get("contrib-type", "author").lower() != "author":
            continue
        named = (*contrib, *contrib.findall("name-alternatives/*"))
        name = next((each for each in named if each.tag in ("name", "string-name")), None)
        if name is not None:
            is_eastern = name.get("name-style") == "eastern"
            order = ("surname", "given-names") if is_eastern else ("given-names", "surname")
            yield " ".join(filter(None, (_text(name.find(part)) for part in (*order, "suffix"))))
        else:
            collab = contrib.find("collab")
            yield "" if collab is None else _group_name(collab)


def _group_name(collab: ET.Element) -> str:
    """The name of a group, some words of which may be set in italics, without its members."""
    parts = [collab.text or ""]
    for child in collab:
        if child.tag not in ("contrib-group", "xref", "aff", "fn"):
            parts.extend(child.itertext())
        parts.append(child.tail or "")
    return squeeze("".join(parts))


def _jats_abstract(meta: ET.Element) -> str:
    by_type = {each.get("abstract-type", ""): each for each in reversed(meta.findall("abstract"))}
    main = next((by_type[kind] for kind in ("", "abstract", "standard") if kind in by_type), None)
    if main is None:
        return ""
    title = main.find("title")
    if title is not None:
        main.remove(title)
    return squeeze(" ".join(_text(each) for each in main.iter() if each.tag in ("p", "title")))


def _jats_titles(article: ET.Element) -> Iterator[str]:
    """The titles of the sections of body and back, in the order of the file."""
    for name in ("body", "back"):
        for part in article.findall(name):
            for section in part.iter("sec"):
                if title := _title(section.find("title")):
                    yield title


def _whole_title(meta: ET.Element) -> str:
    """A title, a colon and the subtitle; the colon only where no sign ends the title."""
    title, below = (
        _title(meta.find(f"title-group/{each}")) for each in ("article-title", "subtitle")
    )
    mark = ":" if title and below and title[-1] not in ".:;,?!" else ""
    return squeeze(f"{title}{mark} {below}")


def _title(element: ET.Element | None) -> str:
    """A title without footnotes and without what is raised to mark one."""
    return "" if element is None else squeeze("".join(_texts_without_marks(element)))


def _texts_without_marks(element: ET.Element) -> Iterator[str]:
    yield element.text or ""
    for each in element:
        is_raised = each.tag in ("xref", "sup") and {"xref", "sup"} <= {
            inner.tag for inner in each.iter()
        }
        if not (each.tag == "fn" or is_raised or each.get("ref-type") == "fn"):
            yield from _texts_without_marks(each)
        yield f" {each.tail or ''}" if each.tag in ("fn", "break") else each.tail or ""


def _pubmed_truth(root: ET.Element) -> dict[str, object]:
    citation = root.find("PubmedArticle/MedlineCitation")
    if citation is None or len(root.findall("PubmedArticle")) > 1:
        return {}
    names = {"pubmed": "pmid", "pmc": "pmcid", "doi": "doi"}
    own = root.findall("PubmedArticle/PubmedData/ArticleIdList/ArticleId")
    ids = {names[kind]: _text(each) for each in own if (kind := each.get("IdType", "")) in names}
    trials = citation.findall("Article/DataBankList/DataBank/AccessionNumberList/AccessionNumber")
    for number in map(_text, trials):
        if number.startswith("NCT"):
            ids.setdefault("nct", number)
    return {
        "ids": ids,
        "title": _text(citation.find("Article/ArticleTitle")),
        "authors": [
            _text(each.find("CollectiveName"))
            or " ".join(filter(None, (_text(each.find(part)) for part in NAME_PARTS)))
            for each in citation.findall("Article/AuthorList/Author")
            if each.attrib.get("ValidYN", "Y") == "Y"
        ],
        "abstract": squeeze(
            " ".join(
                f"{each.get('Label', '')} {_text(each)}"
                for each in citation.findall("Article/Abstract/AbstractText")
            )
        ),
        "references": len(root.findall("PubmedArticle/PubmedData/ReferenceList//Reference")),
    }


def _text(element: ET.Element | None) -> str:
    return "" if element is None else squeeze("".join(element.itertext()))

"""What the literature pipeline costs: `python -m lab.bench.literature vectors|jats|abstracts|embedding|hybrid`.

Every figure is CPU time of all processes that take part, so that a busy machine changes little.

- `vectors`: one hybrid search's part in 100,000 vectors, with the lookup of their records, without embedding the query.
- `jats FOLDER`: the reader of JATS over the articles of a folder, in MB a second.
- `abstracts COUNT`: citations of PubMed from file to `completed`, without an embedder, and the memory of the process.
- `embedding MODEL COUNT`: abstracts a minute of one core by the model of a folder (`stateward models install minilm`).
- `hybrid FOLDER MODEL`: nDCG@10 of hybrid search on the collection of a folder, queries 1 to 112.
"""

import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# As the command and the processes of stages do, before the library that multiplies is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from stateward.app import App
from stateward.app.ranked_search import FEEDBACK_DOCUMENTS, fuse_results
from stateward.app.vectors import VectorSearch
from stateward.core.ranking import RankedQuery, TermSource, best_of, ndcg, segment, source_of
from stateward.core.stemming import terms_of
from stateward.pipelines.literature.embedding.model import SentenceModel
from stateward.pipelines.literature.embedding.stage import pack_vector
from stateward.pipelines.literature.finding import RANKING
from stateward.pipelines.literature.intake import papers_of
from stateward.pipelines.literature.jats import read_jats
from stateward.pipelines.literature.reach import LocalPapers
from stateward.pipelines.literature.retrieval import documents_of, queries_of, relevance_of
from stateward.settings import Settings
from stateward.storage.vectors import ItemVector, Vectors

VECTORS, SIZE, DIRECTIONS = 100_000, 384, 96
SET = 2500  # citations of one set: a line is printed after each
JUDGED = 112  # the other queries of the collection are for judging what was tuned on these
WORDS = [
    f"{a}{b}{c}"
    for a in "bdfglmprst"
    for b in ("a", "ei", "o", "u")
    for c in ("n", "rk", "ls", "mp")
]


def main() -> None:
    """Measure what is named."""
    what, *rest = sys.argv[1:] or [""]
    match what:
        case "vectors":
            vectors()
        case "jats" if rest:
            jats(Path(rest[0]))
        case "abstracts":
            abstracts(int(rest[0]) if rest else 2000)
        case "embedding" if rest:
            embedding(Path(rest[0]), int(rest[1]) if len(rest) > 1 else 40)
        case "hybrid" if len(rest) == 2:
            hybrid(Path(rest[0]), Path(rest[1]))
        case _:
            sys.exit(__doc__)


def cpu_s() -> float:
    """CPU time of this process and of all that descend from it, those that have ended included."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ticks = sum(sum(map(int, stat[11:15])) for stat in descendants())
    return sum(each.ru_utime + each.ru_stime for each in used) + ticks / os.sysconf("SC_CLK_TCK")


def descendants() -> Iterator[list[str]]:
    """The fields of `/proc/PID/stat` after the name, of every living process that descends from this one."""
    parents = [os.getpid()]
    while parents:
        children: list[str] = []
        with suppress(OSError):  # it may have ended since
            for listed in Path(f"/proc/{parents.pop()}/task").glob("*/children"):
                children += listed.read_text().split()
        for child in children:
            with suppress(OSError):
                stat = Path(f"/proc/{child}/stat").read_text()
                parents.append(int(child))
                yield stat.rpartition(")")[2].split()


def own_memory() -> float:
    """What this process has now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """The most that this process and all of its descendants had together, in MiB; looked at several times a second."""
    most, is_over = [0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.3):
            pages = sum(int(stat[21]) for stat in descendants())
            most[0] = max(most[0], own_memory() + pages * os.sysconf("SC_PAGE_SIZE") / 2**20)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        is_over.set()
        thread.join()


def cpu_ms(act: Callable[[], object], *, times: int) -> float:
    """The CPU time of one call, on average."""
    act()
    begun = cpu_s()
    for _ in range(times):
        act()
    return (cpu_s() - begun) / times * 1000


def vectors() -> None:
    """Two looks at the nearest rows, as a hybrid search takes them, and the records of what is found."""
    chance = np.random.default_rng(1)
    mixed = chance.normal(size=(DIRECTIONS, SIZE)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder, App.embedded(Path(folder) / "data") as app:
        stored = Vectors(app.database)
        for start in range(0, VECTORS, 2000):
            rows = chance.normal(size=(2000, DIRECTIONS)).astype(np.float32) @ mixed
            made = [
                ItemVector(record_id=f"LT_{start + n}", item=0, model="m", vector=pack_vector(row))
                for n, row in enumerate(rows)
            ]
            with app.database.transaction():
                stored.replace("literature", f"portion {start}", "embed", made)
        asked = chance.normal(size=DIRECTIONS).astype(np.float32) @ mixed
        asked /= np.linalg.norm(asked)
        search = VectorSearch(Path(folder), stored, embed=lambda *_: ("m", asked.tolist()))

        def ask() -> None:
            query = search.query("literature", "")
            query.towards(list(query.find())[:3])

        print(f"vectors: {cpu_ms(ask, times=20):.1f} ms of CPU a query at {VECTORS:,}")


def jats(folder: Path) -> None:
    """The reader alone, over every article of a folder."""
    articles = [
        path.read_bytes()
        for path in sorted(folder.rglob("*.*ml"))
        if path.suffix in (".xml", ".nxml")
    ]
    articles = [each for each in articles if b"<article" in each[:20_000]]
    size = sum(map(len, articles)) / 1e6
    used = cpu_ms(lambda: [read_jats(each) for each in articles], times=5) / 1000
    print(f"jats: {size / used:.1f} MB/s, {len(articles)} articles of {size:.2f} MB")


def abstracts(count: int) -> None:
    """Citations from sets of PubMed XML to `completed`: added as the command adds them, then done by one node."""
    with tempfile.TemporaryDirectory() as folder, peak_memory() as most:
        settings = Settings.load(environ={"STATEWARD_DATA": folder})
        begun, wall, done, first = cpu_s(), time.monotonic(), 0, 0.0
        print(f"abstracts: {own_memory():.0f} MiB at the start", flush=True)
        while done < count:
            part = min(SET, count - done)
            path = Path(folder) / "set.xml"
            with path.open("wb") as file:
                file.write(b"<PubmedArticleSet>")
                file.writelines(citation(number) for number in range(done, done + part))
                file.write(b"</PubmedArticleSet>")
            with App(settings) as app:
                papers = LocalPapers(app, "bench", str)
                for batch in papers_of(path, "pubmed"):
                    papers.submit_files(batch, name=path.name, reason=None)
                app.run_until_idle()
                ended = papers.status().ended
            done += part
            if ended != done:
                sys.exit(f"abstracts: {ended} of {done} ended")
            memory = own_memory()
            used, passed = cpu_s() - begun, time.monotonic() - wall
            print(
                f"abstracts: {done} done in {passed:.0f} s, {used / done * 1000:.2f} ms of CPU and"
                f" {passed / done * 1000:.2f} ms each; {memory:.0f} MiB, with all children at most {most[0]:.0f}",
                flush=True,
            )
            first = first or memory
        print(
            f"abstracts: {count} in {time.monotonic() - wall:.0f} s, {first:.0f} MiB after the first set and"
            f" {own_memory():.0f} at the end"
        )


def embedding(folder: Path, count: int) -> None:
    """Abstracts of some 210 made-up words, which are cut where the model cuts them."""
    model = SentenceModel(folder)
    texts = [" ".join(words(number)) for number in range(count)]
    used = cpu_ms(lambda: model.vectors(texts), times=1) / 1000
    print(f"embedding: {count / used * 60:.0f} abstracts a minute of one core")


def hybrid(folder: Path, model_folder: Path) -> None:
    """As the service ranks: words and meaning, each asked again with what the best of a first answer have in common."""
    model, documents = SentenceModel(model_folder), documents_of(folder)
    asked, relevant = queries_of(folder)[:JUDGED], relevance_of(folder)
    source = source_of(segment((fields for _, fields in documents), RANKING, first=0))
    texts = [f"{fields['title']} {fields['abstract']}" for _, fields in documents]
    query_vectors = model.vectors(asked)
    with tempfile.TemporaryDirectory() as data, App.embedded(Path(data) / "data") as app:
        stored = Vectors(app.database)
        rows = [
            ItemVector(record_id=str(number), item=0, model="m", vector=pack_vector(row))
            for number, row in enumerate(model.vectors(texts))
        ]
        with app.database.transaction():
            stored.replace("literature", "all", "embed", rows)
        found = {text: row.tolist() for text, row in zip(asked, query_vectors, strict=True)}
        search = VectorSearch(Path(data), stored, embed=lambda _, text: ("m", found[text]))
        scores = [
            ndcg(
                [documents[at][0] for at in hybrid_order(source, search, text)],
                relevant.get(number, {}),
                depth=10,
            )
            for number, text in enumerate(asked, start=1)
        ]
    print(f"hybrid: nDCG@10 {sum(scores) / len(scores):.4f} over {len(scores)} queries")


def hybrid_order(source: TermSource, search: VectorSearch, text: str) -> list[int]:
    """The documents of one query by their places, the best first."""
    terms, ranked = terms_of(text), RankedQuery(source, RANKING)
    candidates = dict(best_of(ranked.first(terms), RANKING.reordered))
    meaning = search.query("literature", text)

    def alike(near: dict[str, float]) -> dict[int, float]:
        return {int(record_id): score for record_id, score in near.items()}

    first = fuse_results(ranked.reordered(terms, candidates), alike(meaning.find()))
    by_number = {hit.number: hit.score for hit in first}
    nearest = [str(hit.number) for hit in first[:FEEDBACK_DOCUMENTS]]
    again = ranked.reordered(terms, {number: by_number[number] for number in candidates})
    return [hit.number for hit in fuse_results(again, alike(meaning.towards(nearest)))]


def words(number: int) -> list[str]:
    """The words of an abstract that never was."""
    chance = np.random.default_rng(number)
    return [WORDS[each] for each in chance.zipf(1.3, size=210) % len(WORDS)]


def citation(number: int) -> bytes:
    """A citation like those of PubMed: an abstract of some 200 words."""
    own = words(number)
    text = " ".join(own)
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{number + 1}</PMID><Article><Journal><Title>J"
        f"</Title><JournalIssue><PubDate><Year>{1990 + number % 30}</Year></PubDate></JournalIssue></Journal>"
        f"<ArticleTitle>{' '.join(own[:10])} {number}</ArticleTitle><Abstract><AbstractText>{text}"
        "</AbstractText></Abstract><AuthorList><Author><LastName>Roe</LastName><ForeName>A</ForeName></Author>"
        "</AuthorList></Article></MedlineCitation></PubmedArticle>"
    ).encode()


if __name__ == "__main__":
    main()

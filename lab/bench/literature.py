"""What the literature pipeline costs: `python -m lab.bench.literature vectors|jats|abstracts`.

Every figure is CPU time of all processes that take part, so that a busy machine changes little.

- `vectors`: one hybrid search's part in 100,000 vectors, with the lookup of their records, without embedding the query.
- `jats FOLDER`: the reader of JATS over the articles of a folder, in MB a second.
- `abstracts COUNT`: citations of PubMed from file to `completed`, without an embedder, and the memory of the process.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stateward.app import App
from stateward.app.vectors import VectorSearch
from stateward.pipelines.literature.embedding.stage import packed
from stateward.pipelines.literature.jats import read_jats
from stateward.settings import Settings
from stateward.storage.vectors import ItemVector, Vectors

VECTORS, SIZE, DIRECTIONS = 100_000, 384, 96
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
        case _:
            sys.exit(__doc__)


def cpu_s() -> float:
    """CPU time of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


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
                ItemVector(record_id=f"LT_{start + n}", item=0, model="m", vector=packed(row))
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
    """Citations from files to `completed`, in one process with its children."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(environ={"STATEWARD_DATA": folder})
        begun, wall = cpu_s(), time.monotonic()
        for part in range(4):
            with App(settings) as app:
                for number in range(part * count // 4, (part + 1) * count // 4):
                    app.submit(citation(number), machine="literature")
                app.run_until_idle()
            done = (part + 1) * count // 4
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"abstracts: {done} done, {(cpu_s() - begun) / done * 1000:.2f} ms of CPU and"
                f" {(time.monotonic() - wall) / done * 1000:.2f} ms each, at most {memory:.0f} MiB"
            )


def citation(number: int) -> bytes:
    """A citation like those of PubMed: an abstract of some 200 words."""
    chance = np.random.default_rng(number)
    words = [WORDS[each] for each in chance.zipf(1.3, size=210) % len(WORDS)]
    text = " ".join(words)
    return (
        f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>{number + 1}</PMID><Article><Journal><Title>J"
        f"</Title><JournalIssue><PubDate><Year>{1990 + number % 30}</Year></PubDate></JournalIssue></Journal>"
        f"<ArticleTitle>{' '.join(words[:10])} {number}</ArticleTitle><Abstract><AbstractText>{text}"
        "</AbstractText></Abstract><AuthorList><Author><LastName>Roe</LastName><ForeName>A</ForeName></Author>"
        "</AuthorList></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"
    ).encode()


if __name__ == "__main__":
    main()

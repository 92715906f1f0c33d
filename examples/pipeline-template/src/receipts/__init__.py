"""Till receipts: every line becomes an article with its price, and the prices become a total."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stateward import Job, Pipeline, Retry
from stateward.core.errors import StageFailure
from stateward.definition.display import Column, ItemView, RecordView
from stateward.definition.plugin import Demonstration, Plugin, Sample, SourceType

FACETS = Plugin(
    name="receipts",
    package=__name__,
    doc="Till receipts become articles and a total.",
    source_types=(
        SourceType(name="receipt", machine="receipts", title="Receipt", suffixes=(".txt",)),
    ),
    records=(RecordView(machine="receipts", title="Receipts", accepts="text"),),
    items=(
        ItemView(
            machine="receipts",
            stage="read",
            columns=(Column("article"), Column("price", format="money")),
        ),
    ),
    demo=Demonstration(samples=(Sample(file="samples/*", machine="receipts"),)),
)

receipts = Pipeline("receipts", retry=Retry(max_retries=2, backoff_s=(1, 10)), plugin=FACETS)


@dataclass
class Article:
    """One line of a receipt; `where` leads the console to its place in the document."""

    article: str
    price: str
    where: dict[str, int]


@dataclass
class Total:
    """What all articles cost, in cents."""

    articles: int
    total_cents: int


@receipts.stage
def read(job: Job) -> Iterator[Article]:
    """Read the lines `name price`; a line that is neither is an error with its number."""
    for number, line in enumerate(job.text().splitlines(), 1):
        if not line.strip():
            continue
        name, _, price = line.rpartition(" ")
        if not name or not price.replace(".", "", 1).isdecimal():
            raise StageFailure(f"line {number} is not an article with a price", code="BAD_LINE")
        yield Article(name.strip(), price, {"line": number})


@receipts.stage(after=read)
def add(job: Job, articles: Iterable[Article]) -> Total:
    """Add the prices, in whole cents."""
    cents = [round(float(each.price) * 100) for each in articles]
    return Total(articles=len(cents), total_cents=sum(cents))

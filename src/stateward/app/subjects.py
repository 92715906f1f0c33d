"""Which records are about one person: those that have a label with exactly this value, over all pipelines."""

from typing import TYPE_CHECKING

from stateward.core.errors import InvalidRequest
from stateward.core.query import parse_query
from stateward.engine.indexer import label_text

if TYPE_CHECKING:
    from stateward.app import App

PAGE = 1000


def records_of(app: "App", subject: str) -> list[str]:
    """The ids of all records with a label; `subject` is LABEL=VALUE."""
    label, equals, value = subject.partition("=")
    if not equals or not label or not value:
        raise InvalidRequest(f"a subject is LABEL=VALUE, not {subject!r:.100}")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    query = parse_query(f'meta.{label}:"{quoted}"', now=app.clock())
    found: list[str] = []
    exact: list[str] = []
    while page := app.records.find(query, after=found[-1] if found else "", limit=PAGE):
        found += [each.id for each in page]
        # A query may mean more than it says, such as a pattern; here too much would be gone for good.
        exact += [each.id for each in page if label_text(each.labels.get(label)) == value]
    return exact

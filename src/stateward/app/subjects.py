"""Which records are about one person, and where copies of what is erased may still be."""

from typing import TYPE_CHECKING

from stateward.core.errors import InvalidRequest
from stateward.core.query import parse_query, quote_text
from stateward.engine.indexer import label_text
from stateward.storage.last_backup import last_backup

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.settings import Settings

PAGE = 1000


def records_of(app: "App", subject: str) -> list[str]:
    """The ids of all records that have a label with exactly this value, over all pipelines; LABEL=VALUE."""
    label, equals, value = subject.partition("=")
    if not equals or not label or not value:
        raise InvalidRequest(f"a subject is LABEL=VALUE, not {subject!r:.100}")
    query = parse_query(f"meta.{label}:{quote_text(value)}", now=app.clock())
    found: list[str] = []
    exact: list[str] = []
    while page := app.records.find(query, after=found[-1] if found else "", limit=PAGE):
        found += [each.id for each in page]
        # A query may mean more than it says, such as a pattern; here too much would be gone for good.
        exact += [each.id for each in page if label_text(each.labels.get(label)) == value]
    return exact


def remaining_copies(settings: "Settings", *, is_compacted: bool) -> list[str]:
    """Where what was erased may still be. Settings are named, not their paths: callers may be on another machine."""
    last = last_backup(settings.data_path)
    known = [
        ("the sets in backup.folder", settings.backup.folder is not None),
        # One that was made by a command is in no setting. The file knows the last place, not all of them.
        (
            f"backup sets; the last one is {'' if last is None else last.name}, stateward doctor says where",
            last is not None and last.folder != settings.backup.folder,
        ),
        ("the ledger in ledger.mirror", settings.ledger.mirror is not None),
        (
            "unused parts of the database, until it is written anew: stateward erase --compact, run beside it",
            not is_compacted,
        ),
        (
            "copies from before an upgrade, named *.before-schema-* in the data folder",
            any(settings.data_path.glob("*.before-schema-*")),
        ),
    ]
    found = [what for what, is_there in known if is_there]
    return [*found, "exports, and what webhooks, mail and the change feed have delivered"]

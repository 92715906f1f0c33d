"""Changed settings in the audit log: which keys, what they were and what they are, with passwords masked."""

from collections.abc import Iterator, Mapping

import msgspec

from stateward.app import App
from stateward.core.model import Fields, Json
from stateward.storage.audit import SETTINGS_CHANGED, AuditEntry, AuditQuery

ENTRIES_MAX = 100_000


def note_settings(app: App, *, actor: str) -> Fields:
    """Note the settings that differ from those of the last start; the keys with what they were and are.

    Each entry holds what changed with it, so the settings of the last start are all entries laid over each other.
    """
    now = dict(_flat(msgspec.to_builtins(app.settings.as_mapping())))
    with app.database.transaction():
        before = _last(app)
        paths = sorted(
            path for path in now.keys() | before.keys() if now.get(path) != before.get(path)
        )
        changed: Fields = {path: [before.get(path), now.get(path)] for path in paths}
        if changed:
            entry = AuditEntry(at=app.clock(), actor=actor, verb=SETTINGS_CHANGED, detail=changed)
            app.audit.add([entry])
    return changed


def _last(app: App) -> dict[str, Json]:
    found: dict[str, Json] = {}
    query = AuditQuery(verb=SETTINGS_CHANGED)
    for _, entry in app.audit.find(query, is_rising=True, limit=ENTRIES_MAX):
        found |= {path: pair[1] for path, pair in entry.detail.items() if isinstance(pair, list)}
    return {path: value for path, value in found.items() if value is not None}


def _flat(values: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value

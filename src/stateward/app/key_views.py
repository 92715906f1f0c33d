"""Keys as the documents of the HTTP API, which commands print too."""

from msgspec import UNSET, UnsetType

from stateward import schemas
from stateward.core.model import Micros, to_iso, to_iso_or_none
from stateward.storage.keys import ApiKey


def key_view(each: ApiKey, *, now: Micros, text: str | UnsetType = UNSET) -> schemas.KeyDocument:
    """A key; with its text only where that is named."""
    return schemas.KeyDocument(
        id=each.id,
        name=each.name,
        role=each.role,
        pipelines=each.pipelines,
        is_live=each.is_live(now),
        created_at=to_iso(each.created_at),
        created_by=each.created_by,
        expires_at=to_iso_or_none(each.expires_at),
        revoked_at=to_iso_or_none(each.revoked_at),
        used_at=to_iso_or_none(each.used_at),
        rate_per_minute=each.rate_per_minute,
        upload_bytes_max=each.upload_bytes_max,
        key=text,
    )

"""`/experiments`: what was published, as one file."""

from hashlib import sha256
from typing import Any

from litestar import Response, Router, get
from litestar.params import FromPath

from stateward.pipelines.experiments import MACHINE
from stateward.pipelines.experiments.bundle import PUBLISHED, make_bundle, publication_of
from stateward.server.plugin_api import (
    LOOKED_AT,
    Answer,
    App,
    Asked,
    IfNoneMatch,
    Refusal,
    caller_of,
    described_as,
    get_visible_record,
    reply,
    service_of,
)

ZIP = "application/zip"


@get(
    "/{record_id:str}/bundle",
    opt={
        **described_as(
            "read",
            problems=("not-found", "impossible"),
            headers={"200": LOOKED_AT, "304": LOOKED_AT},
        ),
        "media_types": (ZIP,),
    },
    operation_id="getBundle",
    summary="The bundle of published research data",
)
async def bundle(
    request: Asked, record_id: FromPath[str], known: IfNoneMatch = None
) -> Response[bytes]:
    """A ZIP with data, schema, statistics, provenance and how to cite them; the same bytes as `stateward bundle`."""
    caller = caller_of(request)

    def make(app: App) -> Answer:
        record = get_visible_record(app, caller, record_id, machine=MACHINE)
        if record.status != PUBLISHED:
            raise Refusal(
                "impossible",
                f"{record.id} is in {record.status!r}; a bundle is given out once a person has published it",
                found=record.status,
                allowed=[PUBLISHED],
            )
        approval = app.records.transition_view(app.records.history(record.id)[-1])
        files = {
            each.file.name: app.artifacts.path(each.file.sha256).read_bytes()
            for each in app.records.files(record)
        }
        data = make_bundle(files, publication_of(record.id, approval))
        digest = sha256(data).hexdigest()
        headers = {
            "ETag": f'"{digest}"',
            "Cache-Control": "no-store",
            "Content-Type": ZIP,
            "Content-Disposition": f'attachment; filename="{record.id}.zip"',
            "X-Content-Type-Options": "nosniff",
        }
        if known is not None and digest in known:
            return Answer(status=304, headers=headers, body=b"")
        return Answer(status=200, headers=headers, body=data)

    return reply(await service_of(request).broad.ask(make))


HANDLERS: list[Any] = [Router(path="/experiments", route_handlers=[bundle], tags=["experiments"])]

"""`stateward bundle`: what was published, as one file."""

import hashlib
from pathlib import Path

import click

from stateward.cli.plugin_api import CliContext, Command, pass_context
from stateward.core.errors import InvalidRequest
from stateward.pipelines.experiments import MACHINE


@click.command(
    "bundle", cls=Command, is_reading=True, examples=["stateward bundle EX_01h2k3 --out bundle.zip"]
)
@click.argument("record_id", metavar="ID")
@click.option(
    "--out", metavar="FILE", required=True, help="Where it is written; it must not exist."
)
@pass_context
def bundle(context: CliContext, record_id: str, out: str) -> None:
    """Write the bundle of published research data.

    A ZIP file with the data, their schema, statistics, plots, where they come from, who published them, how to cite
    them, and the SHA-256 of each. The same record always gives the same bytes. Without a person's approval there is no
    bundle.
    """
    from stateward.pipelines.experiments.bundle import PUBLISHED, make_bundle, publication_of

    with context.app() as app:
        record = app.record(record_id)
        if (record.machine, record.status) != (MACHINE, PUBLISHED):
            raise InvalidRequest(
                f"{record_id} is in {record.status!r}; a bundle is given out once a person has published it: "
                f"stateward review approve {record_id}"
            )
        approval = list(app.history(record_id))[-1]
        files = {
            each.name: b"".join(app.file(record_id, each.stage, each.name))
            for each in app.files(record_id)
        }
    data = make_bundle(files, publication_of(record_id, approval))
    digest = hashlib.sha256(data).hexdigest()
    try:
        with Path(out).open("xb") as file:
            file.write(data)
    except OSError as error:
        raise InvalidRequest(f"cannot write {out}: {error.strerror or error}") from error
    if context.json:
        context.emit({"file": out, "bytes": len(data), "sha256": digest})
    else:
        context.say(f"{out}: {len(data)} bytes, sha256:{digest}")

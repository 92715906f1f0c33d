"""Derived files of records: `files` lists them, `file` writes one of them."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import click

from stateward.cli.commands import command, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import plural, write_bytes
from stateward.cli.records import why_nothing


@command(
    "files",
    "stateward files IMG_01h2k3",
    "stateward files IMG_01h2k3 --json",
    is_listing=True,
    is_reading=True,
)
@click.argument("record_id", metavar="ID")
@pass_context
def files(context: CliContext, record_id: str) -> None:
    """List the files that stages derived from a document.

    Pictures, PDFs, bundles: those of the attempts that count, in the order in which they were saved.
    """
    with context.app() as app:
        found = app.files(record_id)
        if not found and not context.is_for_programs:
            context.say(why_nothing(app, record_id, f"no stage of {record_id} has saved a file"))
        else:
            context.show_rows(
                found,
                ("file", "type", "bytes"),
                lambda each: (f"{each.stage}/{each.name}", each.media_type, each.size),
            )


@command(
    "file",
    "stateward file IMG_01h2k3 thumbnail/small.jpg --out small.jpg",
    "stateward file EXP_01h2k3 publish/bundle.zip --out -",
    is_reading=True,
)
@click.argument("record_id", metavar="ID")
@click.argument("path", metavar="STAGE/NAME")
@option(
    "--out FILE",
    "File to write, replaced if it exists; - is standard output.",
    required=True,
)
@pass_context
def file(context: CliContext, record_id: str, path: str, out: str) -> None:
    """Save a derived file.

    Its SHA-256 is checked against the record; a file that differs is not written.
    """
    from stateward.core.errors import ArtifactError, InvalidRequest, UnknownName

    stage, slash, name = path.partition("/")
    if not slash:
        raise click.UsageError(f"{path!r} names no file; write STAGE/NAME, as `files` lists them")
    with context.app() as app:
        known = {f"{each.stage}/{each.name}": each for each in app.files(record_id)}
        if path not in known:
            raise UnknownName("file", path, known)
        pieces = app.file(record_id, stage, name)
        if out == "-":
            write_bytes(pieces)
            return
        try:
            digest, size = _write(Path(out), pieces, expected=known[path].sha256)
        except OSError as error:
            raise InvalidRequest(f"cannot write {out}: {error.strerror or error}") from error
    if digest != known[path].sha256:
        raise ArtifactError(f"{path} is damaged: its SHA-256 is not the one of the record")
    context.show(known[path], message=f"{out}: {plural(size, 'byte')}")


def _write(target: Path, pieces: Iterable[bytes], *, expected: str) -> tuple[str, int]:
    """Write a file as a whole or not at all; its SHA-256 and size."""
    digest, size = sha256(), 0
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(descriptor, "wb") as handle:
            for piece in pieces:
                digest.update(piece)
                size += handle.write(piece)
        if digest.hexdigest() == expected:
            Path(name).replace(target)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
    return digest.hexdigest(), size

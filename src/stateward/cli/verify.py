"""Proof and health: `verify` checks the history, `export` writes it out, `doctor` looks at the installation."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, Group, command, flag_option, option
from stateward.cli.context import CliContext, is_unwritable, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.export_items import export_items
from stateward.cli.kept_files import kept_file
from stateward.cli.ledger.options import PublicKey
from stateward.cli.output import plural, write, write_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from stateward.app import App
    from stateward.proofs.history_checkpoint import HistoryCheckpoint
    from stateward.schemas import Diagnosis, Verification


@command(
    "verify",
    "stateward verify",
    "stateward verify --json",
    "stateward verify --documents",
    "stateward verify --out checkpoint.txt",
    "stateward verify --checkpoint /mnt/other/checkpoint.txt",
    "stateward verify --checkpoint s3://proofs/ours/checkpoint-0000000000001234.txt --signed-by signing.key.pub",
    "stateward verify --checkpoint checkpoint.txt --timestamp checkpoint.tsr --timestamp-roots authority.pem",
    "stateward verify --consistency checkpoint.txt checkpoint-2.txt --out proof.json",
    "stateward verify --consistency checkpoint.txt checkpoint-2.txt --proof proof.json",
    "stateward verify /media/copy --read-only",
    "stateward verify --ledger ledger/",
    "stateward verify ledger/ --checkpoint checkpoint.txt",
    "stateward verify export.jsonl",
    "stateward verify history/ --checkpoint checkpoint.txt",
    is_reading=True,
)
@click.argument("place", metavar="[STORE|LEDGER|EXPORT]", required=False, type=A_FILE)
@option(
    "--ledger DIR",
    "Also verify the ledger that mirrors the history, and compare the two.",
    to="folder",
    type=A_FILE,
)
@flag_option(
    "--documents",
    "Also read every document and compare its bytes with its SHA-256 in the history.",
    to="with_documents",
)
@option(
    "--checkpoint FILE",
    "A checkpoint that was kept elsewhere, such as s3://bucket/name: the history must be that one, or have grown "
    "from it.",
    to="kept_at",
)
@option(
    "--consistency OLD NEW",
    "Two checkpoints: prove that the history of the second has grown from that of the first, without reading it.",
    to="pair_at",
    nargs=2,
)
@option(
    "--proof FILE",
    "With --consistency: check this proof with the two checkpoints alone; no store is needed.",
    to="proof_file",
    type=A_FILE,
)
@option(
    "--signed-by KEY",
    "The public half of the key that must have signed the checkpoints that are named, or that of an export; or "
    "its file.",
    type=PublicKey(),
)
@option(
    "--timestamp FILE",
    "With --checkpoint: the time stamp (RFC 3161) that an authority gave for it; says when that was.",
    to="token",
    type=A_FILE,
)
@option(
    "--timestamp-roots FILE",
    "The certificates (PEM) that vouch for the authority; without it those of the settings.",
    to="roots",
    type=A_FILE,
)
@flag_option(
    "--read-only",
    "Write nothing, not even beside the database: for a copy, a replica, or a login that may only read. "
    "The default for a folder that cannot be written to.",
)
@option(
    "--out FILE",
    "Write the checkpoint of a sound history to this file, or with --consistency the proof.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@pass_context
def verify(
    context: CliContext,
    *,
    place: Path | None,
    folder: Path | None,
    with_documents: bool,
    kept_at: str | None,
    pair_at: tuple[str, str] | None,
    proof_file: Path | None,
    signed_by: str | None,
    token: Path | None,
    roots: Path | None,
    read_only: bool,
    out: Path | None,
) -> Exit:
    """Verify the history of a store, an export or a ledger.

    A STORE is a data folder, by default that of the settings. Replays the whole history against the records: the hash
    chain of every lane, versions, order, the graph of each machine, the status of each record, the items and logs of
    attempts, the audit log, and the database itself (SQLite's integrity_check; amcheck where PostgreSQL has it). A
    change of any single field is found. Prints each finding, and the checkpoint of a sound history: kept elsewhere, it
    shows whether anything that it covers was rewritten. Work may go on meanwhile. Of two checkpoints, --consistency
    proves that nothing that the older one covers was rewritten before the newer one was made, without reading the
    history; the proof can be checked by others, who have no store.

    An EXPORT is the folder that `export history` wrote: its transitions, each record against the last of them, the
    audit log, and what that has seals of, also with a --checkpoint that was kept elsewhere, or with --signed-by and the
    checkpoint that is in it. No store is needed.

    A LEDGER is a ledger directory or a file: what `ledger export` wrote, a delta beside its manifest, or the
    transitions.jsonl of `export history` alone. Reads every byte: the hash chain, each file against the manifest, each
    snapshot against its checksum and the log, and of a directory each move against its machine. Ends with 1 on any
    damage.
    """
    from msgspec import to_builtins

    kept = None if kept_at is None else kept_file(context, kept_at)
    pair = None if pair_at is None else tuple(kept_file(context, each) for each in pair_at)
    verify_files = None if place is None else _verifier_of(place)
    if (
        signed_by is not None
        and kept is None
        and pair is None
        and verify_files is not _verify_export
    ):
        raise click.UsageError("--signed-by is about a checkpoint: name it with --checkpoint")
    if kept is not None and token is not None:
        _tell_time(context, kept, token, roots)
    elif token is not None or roots is not None:
        raise click.UsageError("--timestamp is about a checkpoint: name it with --checkpoint")
    if pair is not None or proof_file is not None:
        if pair is None or folder is not None or with_documents or kept is not None:
            raise click.UsageError(
                "--consistency compares two checkpoints, by a --proof or a store"
            )
        return _consistency(context, place, pair, proof_file, signed_by, out, read_only)
    if place is not None and verify_files is not None:
        if folder is not None or out is not None or with_documents:
            sentence = "--ledger, --documents and --out are about a store, not about its files"
            raise click.UsageError(sentence)
        return verify_files(context, place, checkpoint=kept, signed_by=signed_by)
    if place is not None:
        _use_store(context, place)
    checkpoint = None if kept is None else _read_kept(kept, signed_by)
    verdict, mirrored = _verify(
        context, kept, folder, with_documents=with_documents, is_read_only=read_only
    )
    is_sound = verdict.is_sound and (mirrored is None or mirrored["is_sound"] is True)
    if out is not None and is_sound:
        out.write_text(verdict.checkpoint, "utf-8")
    if context.json:
        plain: dict[str, object] = {**to_builtins(verdict), "is_sound": is_sound}
        context.emit(plain if mirrored is None else {**plain, "ledger": mirrored})
    else:
        _tell(context, verdict, checkpoint, with_checkpoint=out is None)
        if mirrored is not None:
            _tell_mirrored(context, mirrored)
    return Exit.OK if is_sound else Exit.FOUND_PROBLEMS


def _tell_time(context: CliContext, kept: Path, token: Path, roots: Path | None) -> None:
    """Say when an authority saw the checkpoint; refuse to go on if it did not see this one."""
    from stateward.core.errors import InvalidRequest
    from stateward.proofs.timestamps import timestamp_of

    known = roots or context.settings().anchors.timestamp_roots
    if known is None:
        raise click.UsageError(
            "--timestamp needs --timestamp-roots, the certificates to check it by"
        )
    try:
        at = timestamp_of(token.read_bytes(), kept.read_bytes(), Path(known))
    except InvalidRequest as error:
        raise InvalidRequest(f"{token} is no good time stamp of {kept}: {error}") from None
    context.say(f"an authority saw {kept} at {at:%Y-%m-%dT%H:%M:%SZ}")


def _tell(
    context: CliContext,
    verdict: "Verification",
    kept: "HistoryCheckpoint | None",
    *,
    with_checkpoint: bool,
) -> None:
    for each in verdict.findings:
        write(f"{each.where}: {each.check}: {each.sentence}")
    if verdict.is_sound and with_checkpoint:
        for line in verdict.checkpoint.splitlines():
            write(line)
    for sentence in _judgement(verdict, kept):
        context.say(sentence)


def _verify(
    context: CliContext,
    kept: Path | None,
    folder: Path | None,
    *,
    with_documents: bool,
    is_read_only: bool,
) -> "tuple[Verification, dict[str, object] | None]":
    """What was found. What is compared with a file of this machine is verified here; all else where the data is."""
    _refuse_nothing(context)
    if folder is None and not with_documents and not is_read_only:
        from stateward.proofs.checkpoints import kept_text

        text = None if kept is None else kept_text(kept.read_bytes())
        with context.app() as app:
            return app.verify(checkpoint=text, progress=context.progress_of), None
    from msgspec.structs import replace

    from stateward.app.views import verification_view

    with context.local_app(is_read_only=is_read_only) as own:
        checkpoint = None if kept is None else _read_kept(kept, None)
        found = own.admin.verify(kept=checkpoint, progress=context.progress_of)
        if with_documents:
            faults = own.admin.verify_documents(progress=context.progress_of)
            found = replace(found, findings=(*found.findings, *faults))
        verdict = verification_view(found)
        return verdict, None if folder is None else _mirror_findings(context, own, folder)


def _consistency(
    context: CliContext,
    place: Path | None,
    pair: tuple[Path, ...],
    proof_file: Path | None,
    signed_by: str | None,
    out: Path | None,
    is_read_only: bool,
) -> Exit:
    """Prove it from the store, or check a proof that someone else made."""
    from stateward.proofs.history_proof import inconsistencies, proof_text, read_proof

    old, new = (_read_kept(each, signed_by) for each in pair)
    if proof_file is not None:
        proof = read_proof(proof_file.read_text("utf-8", "replace"))
    else:
        if place is not None:
            _use_store(context, place)
        with context.local_app(is_read_only=is_read_only) as own:
            proof = own.admin.prove(old, new, is_stored=not own.is_read_only)
    found = list(inconsistencies(old, new, proof))
    if out is not None and not found:
        out.write_text(proof_text(proof), "utf-8")
    if context.json:
        context.emit({"is_consistent": not found, "findings": found})
    elif found:
        for sentence in found:
            write(sentence)
        context.say("this does not prove that the newer history has grown from the older one")
    else:
        context.say(
            f"{plural(new.count, 'transition')} of the newer checkpoint have grown from {old.count:,} of the older one"
        )
    return Exit.FOUND_PROBLEMS if found else Exit.OK


def _refuse_nothing(context: CliContext) -> None:
    """Who mistypes the folder must not be told that all is sound. Documents without a store are a finding, not this."""
    from stateward.core.errors import InvalidRequest

    settings = context.settings()
    path = settings.store_path
    is_elsewhere = settings.server.url is not None or path is None or path.exists()
    if not is_elsewhere and not settings.data_path.exists():
        raise InvalidRequest(f"there is no store at {path}: name its data folder with --data")


def _is_ledger(place: Path) -> bool:
    from stateward.ledger.manifest import is_ledger

    return place.is_dir() and is_ledger(place)


def _verifier_of(place: Path) -> "Callable[..., Exit] | None":
    """What verifies a ledger or an export; None of a store."""
    from stateward.proofs.history_file import is_export

    if place.is_file() or _is_ledger(place):
        from stateward.cli.ledger.verify import verify_ledger

        return verify_ledger
    return _verify_export if is_export(place) else None


def _verify_export(
    context: CliContext, place: Path, *, checkpoint: Path | None, signed_by: str | None
) -> Exit:
    from stateward.cli.ledger.verify import tell_verification
    from stateward.engine.export_check import check_export
    from stateward.proofs.checkpoints import parse_verifier

    kept = None if checkpoint is None else _read_kept(checkpoint, signed_by)
    found = check_export(
        place,
        kept=kept,
        progress=context.progress_of,
        signed_by=None if signed_by is None or kept else parse_verifier(signed_by),
    )
    return tell_verification(context, found, is_export=True, checkpoint=kept)


def _use_store(context: CliContext, place: Path) -> None:
    from stateward.core.errors import InvalidRequest

    if not place.is_dir():
        what = "neither a ledger nor the data folder of a store" if place.exists() else "not there"
        raise InvalidRequest(f"{place} is {what}")
    context.data = str(place)
    path = context.settings().store_path
    if path is not None and not path.exists():
        raise InvalidRequest(f"{place} is neither a ledger nor the data folder of a store")


def _read_kept(path: Path, signed_by: str | None) -> "HistoryCheckpoint":
    from stateward.core.errors import InvalidRequest
    from stateward.ledger import parse_verifier
    from stateward.proofs.checkpoints import kept_text
    from stateward.proofs.history_checkpoint import read_checkpoint

    text = kept_text(path.read_bytes())
    if signed_by is not None:
        key = parse_verifier(signed_by)
        if not key.has_signed(text):
            raise InvalidRequest(f"{path} carries no good signature of {key.name}")
    return read_checkpoint(text)


def _mirror_findings(context: CliContext, app: "App", folder: Path) -> dict[str, object]:
    """What is wrong with the ledger by itself, and where it differs first from the history."""
    from stateward.ledger import LedgerError
    from stateward.ledger import verify as verify_ledger

    findings = [str(each) for each in verify_ledger(folder).findings]
    answer: dict[str, object] = {"folder": str(folder), "findings": findings}
    try:
        found = app.admin.compare(folder, progress=context.progress_of)
    except LedgerError as error:
        return {**answer, "is_sound": False, "difference": str(error)}
    return {
        **answer,
        "is_sound": found.is_same and not findings,
        "compared": found.compared,
        "behind": found.behind,
        "difference": found.difference,
    }


def _tell_mirrored(context: CliContext, mirrored: dict[str, object]) -> None:
    findings = mirrored["findings"]
    for finding in findings if isinstance(findings, list) else ():
        write(finding)
    if mirrored["difference"] is not None:
        write(f"first difference: {mirrored['difference']}")
        context.say("the ledger is not that of this history")
    elif mirrored["is_sound"]:
        behind = f"; {mirrored['behind']} are not mirrored yet" if mirrored["behind"] else ""
        context.say(f"the ledger has the same {mirrored['compared']} transitions{behind}")


def _judgement(verdict: "Verification", kept: "HistoryCheckpoint | None") -> list[str]:
    seen = f"{plural(verdict.records, 'record')} and {plural(verdict.transitions, 'transition')}"
    if not verdict.is_sound:
        return [f"{plural(len(verdict.findings), 'finding')} in {seen}"]
    lines = [f"{seen} are sound; the root over {plural(verdict.lanes, 'lane')} is {verdict.root}"]
    if kept is not None:
        lines.append(f"they are the {plural(kept.count, 'transition')} of the checkpoint, grown")
    if verdict.former:
        lines.append(
            f"{plural(verdict.former, 'transition')} are older than the lanes of this store: their hashes fit, "
            f"but that they were not all rewritten is proved only since {verdict.since}"
        )
    if verdict.has_strays:
        lines.append(
            "there are documents that no record has: if records are missing here, this is not their database, or not "
            "all of it; see stateward restore --help"
        )
    if verdict.unsealed:
        since = (
            f"proved only since {verdict.sealed_since}" if verdict.sealed_since else "not proved"
        )
        lines.append(
            f"{plural(verdict.unsealed, 'output')} are older than the digests of outputs: that items and logs are as "
            f"they were written is {since}"
        )
    return lines


@click.group(
    "export",
    cls=Group,
    examples=[
        "stateward export items --from 2026-01-01 --format xlsx --out 2026.xlsx",
        "stateward export history --out history/",
    ],
)
def export() -> None:
    """Export items or the history to files."""


export.add_command(export_items)


@export.command(
    "history",
    "stateward export history --out history/",
    "stateward export history --out h --json",
    is_reading=True,
)
@option(
    "--out DIR",
    "A new or empty folder.",
    to="folder",
    type=A_FILE,
    required=True,
)
@pass_context
def export_history(context: CliContext, folder: Path) -> None:
    """Write the whole history as JSON lines into a new folder.

    transitions.jsonl, records.jsonl, dispositions.jsonl (events that changed nothing, and why), dead_letters.jsonl,
    audit.jsonl (sign-ins, keys, exports and what else people did), checkpoints.jsonl (if the settings name a key that
    signs) and anchor.json (how long each lane is, and its head). Over --server it is transitions.jsonl alone, of the
    pipelines that the key may see and without the lanes: what proves it is `verify --server`.
    """
    with context.app() as app:
        counts = app.export_history(folder, progress=context.progress_of)
    if context.json:
        context.emit({"folder": str(folder), "counts": counts})
    else:
        write_table(("file", "lines"), counts.items())
        context.say(f"written to {folder}")


@command("doctor", "stateward doctor", "stateward doctor --json", is_reading=True)
@pass_context
def doctor(context: CliContext) -> Exit:
    """Check this installation, and say how to fix what is wrong.

    Checks the database and its durability, free disk space, backups, the clock, workers, overdue records, pauses,
    undelivered notifications, and the sandbox of runners. A store that cannot be written to, for instance on a full
    disk, is opened read-only, and that is the first finding.
    """
    found = _diagnose(context)
    if context.json:
        context.emit(found)
    else:
        for check in found.checks:
            # Where there is no data folder yet, an empty one elsewhere was looked at.
            used, meant = context.stand_in
            sentence = check.sentence.replace(used, meant) if used else check.sentence
            write(f"{'ok' if check.is_well else 'FAILED':<6}  {check.name}: {sentence}")
            if check.advice:
                write(f"{'':<6}  what to do: {check.advice}")
        failed = sum(not check.is_well for check in found.checks)
        context.say("all checks passed" if found.is_well else f"{plural(failed, 'check')} failed")
    return Exit.OK if found.is_well else Exit.FOUND_PROBLEMS


def _diagnose(context: CliContext) -> "Diagnosis":
    """What is found; where the store cannot be opened for writing, by reading alone, which is then a finding too."""
    from stateward.core.errors import StoreFull

    why = "nothing can be written to the data folder"
    if not is_unwritable(context.settings()):
        try:
            with context.app(only_reads=False) as app:
                return app.doctor()
        except StoreFull as error:
            if context.settings().server.url is not None:
                raise
            why = str(error)
    from stateward.cli.local import LocalApp
    from stateward.schemas import Diagnosis, DiagnosisCheck

    with context.local_app(is_read_only=True) as own:
        found = LocalApp(own).doctor()
    unwritable = DiagnosisCheck(
        name="database",
        is_well=False,
        sentence=f"{why}; the store is only read, so whether what is written to it is durable was not checked",
        advice="free some space on its disk or make its folder writable, then say stateward doctor again",
    )
    rest = [each for each in found.checks if each.name != unwritable.name]
    return Diagnosis(is_well=False, checks=[unwritable, *rest])

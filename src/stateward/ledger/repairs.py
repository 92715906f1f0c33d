"""Says what can be done about damage, and does it on request. Never guesses.

`repair` lists what it would do and does it only with `execute`. It never deletes: bytes that have to go are kept
beside, as `….torn-<byte>`, `….corrupt` or `….damaged`. What costs acknowledged records is done only with
`accept_loss`, and the number is given. What cannot be repaired is listed too: a backup must be restored then.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import Damage, LedgerError
from stateward.ledger.delta import read_chunks
from stateward.ledger.delta_index import INDEX_SUFFIX
from stateward.ledger.disk import Disk, unlink_if_exists, write_atomically
from stateward.ledger.manifest import (
    GZIP_SUFFIX,
    HEAD,
    DeltaInfo,
    Manifest,
    is_ledger,
    write_manifest,
)
from stateward.ledger.verification import LedgerVerifier
from stateward.ledger.view import Progress, head_slot, no_progress, read_head
from stateward.ledger.writer import acquire_lock


class RepairStep(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that `repair` would do or did. `lost` are acknowledged records that it costs."""

    finding: Damage
    action: str
    lost: int = 0
    needs_accept_loss: bool = False
    is_possible: bool = True


def repair(
    folder: Path, *, execute: bool = False, accept_loss: bool = False, disk: Disk | None = None,
    clock: Callable[[], float] = lambda: 0.0, progress: Progress = no_progress,
) -> list[RepairStep]:  # fmt: skip
    """What can be done about the damage; with `execute`, it is done. The ledger must not be open for writing."""
    if not is_ledger(folder):
        raise LedgerError(f"{folder} is not a ledger")
    seam = disk or Disk()
    lock_fd = acquire_lock(folder, seam, clock)
    try:
        return _Repair(folder, seam, is_executed=execute, accept_loss=accept_loss).run(progress)
    finally:
        os.close(lock_fd)


class _Repair:
    def __init__(self, folder: Path, disk: Disk, *, is_executed: bool, accept_loss: bool) -> None:
        self._folder, self._disk = folder, disk
        self._is_executed, self._is_loss_accepted = is_executed, is_executed and accept_loss

    def run(self, progress: Progress) -> list[RepairStep]:
        verifier = LedgerVerifier(self._folder, progress)
        manifest = verifier.read_manifest()
        if manifest is None:
            action = "nothing can be done here; restore a backup"
            return [
                RepairStep(finding=each, action=action, is_possible=False)
                for each in verifier.findings
            ]
        steps: list[RepairStep] = []
        if verifier.listed is None:
            action = "rebuild the manifest from the files"
            steps.append(RepairStep(finding=verifier.findings[0], action=action))
            if self._is_executed:
                write_manifest(self._disk, self._folder, manifest)
        verifier.findings.clear()
        verifier.check_snapshots(manifest)
        for finding in verifier.findings:
            manifest = self._set_snapshot_aside(finding, manifest, steps)
        verifier.findings.clear()
        verifier.check_log(manifest)
        action = "cut it off and keep the bytes beside; opening does that by itself"
        steps += [RepairStep(finding=note, action=action) for note in verifier.notes]
        if verifier.bad_at is not None:
            steps.append(self._repair_log(manifest, verifier.findings[0], verifier.bad_at))
        else:
            steps += [self._repair_other(finding, manifest) for finding in verifier.findings]
        return steps

    def _set_snapshot_aside(
        self, finding: Damage, manifest: Manifest, steps: list[RepairStep]
    ) -> Manifest:
        """Take a damaged snapshot off the list; the manifest without it."""
        name = finding.file.removesuffix(GZIP_SUFFIX)
        action = f"put {name} aside as {name}.corrupt; an older one and the log are used"
        steps.append(RepairStep(finding=finding, action=action))
        if not self._is_executed:
            return manifest
        kept = tuple(
            info for info in manifest.snapshots if info.file.removesuffix(GZIP_SUFFIX) != name
        )
        manifest = replace(manifest, snapshots=kept, generation=manifest.generation + 1)
        write_manifest(self._disk, self._folder, manifest)
        for file in (name, name + GZIP_SUFFIX):
            self._rename_if_exists(file, f"{file}.corrupt")
        self._disk.sync_dir(self._folder)
        return manifest

    def _repair_log(
        self, manifest: Manifest, finding: Damage, bad_at: tuple[DeltaInfo, int, int]
    ) -> RepairStep:
        info, byte, seq = bad_at
        snapshot_seq = max((each.last_seq for each in manifest.snapshots), default=0)
        if info.last_seq is not None and info.last_seq <= snapshot_seq:
            action = (
                "states are not concerned: a snapshot holds them. Restore this file from a backup"
            )
            return RepairStep(finding=finding, action=action, is_possible=False)
        end = max(read_head(self._folder), *(each.last_seq or 0 for each in manifest.deltas))
        lost = max(end - seq + 1, 1)
        action = (
            f"keep {info.file} from byte {byte} on, and all later files, as ….damaged; go on after seq {seq - 1}: "
            f"{lost} acknowledged records are lost unless a backup has them"
        )
        if self._is_loss_accepted:
            self._cut_log(manifest, info, byte, seq)
        return RepairStep(finding=finding, action=action, lost=lost, needs_accept_loss=True)

    def _repair_other(self, finding: Damage, manifest: Manifest) -> RepairStep:
        if finding.file != HEAD:
            action = "restore the file from a backup"
            return RepairStep(finding=finding, action=action, is_possible=False)
        lost = max(read_head(self._folder) - (manifest.active.first_seq - 1), 1)
        action = (
            "believe the log, as after restoring an older backup: what HEAD knew beyond it is lost"
        )
        if self._is_loss_accepted:
            self._rename_if_exists(HEAD, f"{HEAD}.damaged")
            self._disk.sync_dir(self._folder)
        return RepairStep(finding=finding, action=action, lost=lost, needs_accept_loss=True)

    def _cut_log(self, manifest: Manifest, info: DeltaInfo, byte: int, seq: int) -> None:
        """Make the good lines of the damaged delta the active one; rename the rest.

        `HEAD` comes last: until it says `seq - 1`, a crash leaves a ledger that refuses to open, not one that has
        forgotten lines silently.
        """
        place = [each.first_seq for each in manifest.deltas].index(info.first_seq)
        path = self._folder / info.file.removesuffix(GZIP_SUFFIX)
        good = b""
        for data in read_chunks(self._folder / info.file):
            good += data
            if len(good) >= byte:  # what follows may be unreadable
                break
        for each in manifest.deltas[place:]:
            plain = each.file.removesuffix(GZIP_SUFFIX)
            for name in dict.fromkeys((each.file, plain)):
                self._rename_if_exists(name, f"{name}.damaged")
            unlink_if_exists(self._disk, self._folder / (plain + INDEX_SUFFIX))
        write_atomically(self._disk, path, good[:byte])
        active = DeltaInfo(file=path.name, first_seq=info.first_seq, chain=info.chain)
        write_manifest(
            self._disk,
            self._folder,
            replace(
                manifest,
                deltas=(*manifest.deltas[:place], active),
                rollbacks=tuple(each for each in manifest.rollbacks if each[0] < seq),
                generation=manifest.generation + 1,
            ),
        )
        slot = head_slot(seq=seq - 1, size=byte, generation=0)
        write_atomically(self._disk, self._folder / HEAD, slot)

    def _rename_if_exists(self, name: str, new_name: str) -> None:
        if (self._folder / name).exists():
            self._disk.rename(self._folder / name, self._folder / new_name)

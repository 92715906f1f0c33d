"""What can be done about damage, and doing it when told. Never guesses.

`repair` says what it would do, and does it only when told. It never deletes: bytes that have to go are kept beside
(`….torn-<byte>`, `….corrupt`, `….damaged`). What costs acknowledged records it does only with `accept_loss`, and
it says how many. What it cannot mend it says too: then a backup must be brought back.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.ledger.disk import Disk, put
from stateward.ledger.errors import Finding, LedgerError
from stateward.ledger.index import SUFFIX
from stateward.ledger.manifest import (
    GZ,
    HEAD,
    DeltaPart,
    Manifest,
    read_manifest,
    write_manifest,
)
from stateward.ledger.rebuild import is_ledger
from stateward.ledger.verify import Check, Progress, no_progress
from stateward.ledger.view import head_slot, read_head, unpack
from stateward.ledger.writer import lock


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that `repair` would do or did. `lost` are acknowledged records that it costs."""

    finding: Finding
    action: str
    lost: int = 0
    needs_accept_loss: bool = False
    is_possible: bool = True


def repair(
    folder: Path, *, execute: bool = False, accept_loss: bool = False, disk: Disk | None = None,
    clock: Callable[[], float] = lambda: 0.0, progress: Progress = no_progress,
) -> list[Step]:  # fmt: skip
    """What can be done about the damage; with `execute`, it is done. The ledger must not be open for writing."""
    seam = disk or Disk()
    if not folder.is_dir() or not is_ledger(folder):
        raise LedgerError(f"{folder} is not a ledger")
    held = lock(folder, seam, clock)
    try:
        mending = _Repair(
            folder, seam, accept_loss=accept_loss, is_executed=execute, progress=progress
        )
        return mending.steps()
    finally:
        os.close(held)


class _Repair:
    def __init__(
        self, folder: Path, disk: Disk, *, accept_loss: bool, is_executed: bool, progress: Progress
    ) -> None:
        self._folder, self._disk, self._progress = folder, disk, progress
        self._accept_loss, self._is_executed = accept_loss, is_executed

    def steps(self) -> list[Step]:
        check = Check(self._folder, self._progress)
        was_there = read_manifest(self._folder) is not None
        manifest = check.manifest()
        if manifest is None:
            action = "nothing can be done here; bring back a backup"
            return [Step(finding=each, action=action, is_possible=False) for each in check.findings]
        steps: list[Step] = []
        if not was_there:
            steps.append(
                Step(finding=check.findings[0], action="make the manifest anew from the files")
            )
            if self._is_executed:
                write_manifest(self._disk, self._folder, manifest)
        check.findings.clear()
        check.snapshots(manifest)
        steps += self._snapshots(manifest, check.findings)
        check.findings.clear()
        check.log(manifest)
        for note in check.notes:
            steps.append(
                Step(
                    finding=note,
                    action="cut it off and keep the bytes beside; opening does that by itself",
                )
            )
        steps += self._log(read_manifest(self._folder) or manifest, check)
        return steps

    def _snapshots(self, manifest: Manifest, findings: list[Finding]) -> list[Step]:
        steps = []
        for finding in findings:
            name = finding.file.removesuffix(GZ)
            action = f"put {name} aside as {name}.corrupt; an older one and the log are used"
            steps.append(Step(finding=finding, action=action))
            if self._is_executed:
                kept = tuple(p for p in manifest.snapshots if p.file.removesuffix(GZ) != name)
                manifest = replace(manifest, snapshots=kept, generation=manifest.generation + 1)
                write_manifest(self._disk, self._folder, manifest)
                for file in (name, name + GZ):
                    if (self._folder / file).exists():
                        self._disk.rename(self._folder / file, self._folder / f"{file}.corrupt")
                self._disk.sync_dir(self._folder)
        return steps

    def _log(self, manifest: Manifest, check: Check) -> list[Step]:
        floor = max((part.last_seq for part in manifest.snapshots), default=0)
        if check.bad_at is None:
            return [self._head_step(finding, manifest) for finding in check.findings]
        part, byte, seq = check.bad_at
        finding = check.findings[0]
        if part.last_seq is not None and part.last_seq <= floor:
            action = "states are not concerned: a snapshot holds them. Bring this file back from a backup"
            return [Step(finding=finding, action=action, is_possible=False)]
        end = max(read_head(self._folder), *(each.last_seq or 0 for each in manifest.deltas))
        lost = max(end - seq + 1, 1)
        action = (
            f"keep {part.file} from byte {byte} on, and all later files, as ….damaged; go on after seq {seq - 1}: "
            f"{lost} acknowledged records are lost unless a backup has them"
        )
        step = Step(finding=finding, action=action, lost=lost, needs_accept_loss=True)
        if self._is_executed and self._accept_loss:
            self._cut(manifest, part, byte, seq)
        return [step]

    def _head_step(self, finding: Finding, manifest: Manifest) -> Step:
        if finding.file != HEAD:
            return Step(
                finding=finding, action="bring the file back from a backup", is_possible=False
            )
        acknowledged = read_head(self._folder)
        step = Step(
            finding=finding,
            action="believe the log, as after bringing back an older backup: what HEAD knew beyond it is lost",
            lost=max(acknowledged - (manifest.active.first_seq - 1), 1),
            needs_accept_loss=True,
        )
        if self._is_executed and self._accept_loss:
            self._disk.rename(self._folder / HEAD, self._folder / f"{HEAD}.damaged")
            self._disk.sync_dir(self._folder)
        return step

    def _cut(self, manifest: Manifest, part: DeltaPart, byte: int, seq: int) -> None:
        """Keep the good lines of the damaged delta as the one to go on in; put the rest aside."""
        place = [each.first_seq for each in manifest.deltas].index(part.first_seq)
        path = self._folder / part.file
        if path.suffix == GZ:
            path = unpack(self._disk, path, self._folder / part.file.removesuffix(GZ))
        good = path.read_bytes()[:byte]
        for each in manifest.deltas[place:]:
            for name in (each.file, each.file.removesuffix(GZ)):
                if (self._folder / name).exists():
                    self._disk.rename(self._folder / name, self._folder / f"{name}.damaged")
            index = self._folder / (each.file.removesuffix(GZ) + SUFFIX)
            if index.exists():
                self._disk.unlink(index)
        put(self._disk, path, good)
        active = DeltaPart(file=path.name, first_seq=part.first_seq, chain=part.chain)
        rollbacks = tuple(each for each in manifest.rollbacks if each[0] < seq)
        write_manifest(
            self._disk, self._folder,
            replace(manifest, deltas=(*manifest.deltas[:place], active), rollbacks=rollbacks,
                    generation=manifest.generation + 1),
        )  # fmt: skip
        put(self._disk, self._folder / HEAD, head_slot(seq=seq - 1, size=byte, generation=0))

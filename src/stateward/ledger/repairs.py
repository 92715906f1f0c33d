"""Says what can be done about damage, and does it on request. Never guesses.

What costs nothing is tried first: with a manifest that is rebuilt from the files, the whole log may be sound. `repair`
lists what it would do and does it only with `execute`. It never deletes: bytes that have to go are kept
beside, as `….torn-<byte>`, `….corrupt` or `….damaged`. What costs acknowledged records is done only with
`accept_loss`, and the number is given. What cannot be repaired is listed too: a backup must be restored then.
"""

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import Damage, LedgerDamaged, LedgerError
from stateward.ledger import chain
from stateward.ledger.delta import read_chunks
from stateward.ledger.delta_index import INDEX_SUFFIX, DeltaIndex
from stateward.ledger.disk import Disk, refuse_special_files, unlink_if_exists, write_atomically
from stateward.ledger.head import head_slot
from stateward.ledger.manifest import (
    GZIP_SUFFIX,
    HEAD,
    TREE_SUFFIX,
    DeltaInfo,
    Manifest,
    append_to_archive,
    effective_ranges,
    is_ledger,
    iso,
    read_archive,
    read_manifest,
    sidecar,
    write_manifest,
)
from stateward.ledger.rebuild import rebuild_manifest, unlisted_deltas
from stateward.ledger.verification import LedgerVerifier
from stateward.ledger.view import HEAD_LOST, Progress, no_progress
from stateward.ledger.writer import acquire_lock

SEGMENT_LINES_MAX = 1 << 32
"""A number further from the first line of its delta than this is damage, not a line."""


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
    refuse_special_files(folder)
    seam = disk or Disk()
    lock_fd = acquire_lock(folder, seam, clock)
    try:
        job = _Repair(folder, seam, clock, is_executed=execute, accept_loss=accept_loss)
        return job.run(progress)
    finally:
        os.close(lock_fd)


class _Repair:
    """One run over a ledger that is locked: finds, decides and, if asked to, acts; in this order for each kind."""

    def __init__(
        self, folder: Path, disk: Disk, clock: Callable[[], float], *, is_executed: bool, accept_loss: bool
    ) -> None:  # fmt: skip
        self._folder, self._disk, self._clock = folder, disk, clock
        self._is_executed, self._is_loss_accepted = is_executed, is_executed and accept_loss
        self._steps: list[RepairStep] = []

    def run(self, progress: Progress) -> list[RepairStep]:
        """The manifest first, then snapshots, then the log: each step needs what the one before it has left sound.

        A snapshot that is put aside changes which deltas are still needed, and so what a damaged delta costs.
        """
        verifier = LedgerVerifier(self._folder, progress)
        manifest = verifier.read_manifest()
        if manifest is None:
            for each in verifier.findings:
                self._add(each, "nothing can be done here; restore a backup", is_possible=False)
            return self._steps
        self._head = verifier.head
        verifier.check_log(manifest)
        if verifier.listed is None:
            self._write_rebuilt(manifest, [verifier.findings.pop(0)])
        elif verifier.findings and (better := self._rebuild(manifest, progress)) is not None:
            manifest, checked = better
            self._write_rebuilt(manifest, verifier.findings)
            verifier = checked
        of_log = list(verifier.findings)
        verifier.findings.clear()
        verifier.check_snapshots(manifest)
        manifest = self._set_snapshots_aside(verifier.findings, manifest)
        for note in verifier.notes:
            self._add(note, "cut it off and keep the bytes beside; opening does that by itself")
        if not self._repair_segments(manifest, verifier.bad_segments):
            bad = {info.file for info in verifier.bad_segments}
            for finding in of_log:
                if finding.file not in bad:
                    self._repair_other(finding, last_seq=verifier.last_seq)
            if not self._head.is_whole and verifier.last_seq:
                self._write_lost_head(verifier.last_seq)
        return self._steps

    def _add(
        self, finding: Damage, action: str, *, lost: int | None = None, is_possible: bool = True
    ) -> None:
        """A step; with `lost`, one that has to be accepted because it costs so many records."""
        needs_accept_loss = lost is not None
        self._steps.append(
            RepairStep(
                finding=finding, action=action, lost=lost or 0, needs_accept_loss=needs_accept_loss,
                is_possible=is_possible,
            )
        )  # fmt: skip

    # The manifest

    def _rebuild(
        self, listed: Manifest, progress: Progress
    ) -> tuple[Manifest, LedgerVerifier] | None:
        """The manifest that the files imply, if the whole log is sound with it: nothing is lost then."""
        try:
            rebuilt = rebuild_manifest(self._folder)
        except LedgerDamaged:
            return None
        rebuilt = replace(
            rebuilt,
            machine=listed.machine, machine_version=listed.machine_version, created_at=listed.created_at,
            salt=listed.salt, generation=max(rebuilt.generation, listed.generation + 1),
        )  # fmt: skip
        verifier = LedgerVerifier(self._folder, progress)
        verifier.check_log(rebuilt)
        # Of an active delta that is gone only HEAD says whether it had lines.
        is_known = self._head.is_whole or (self._folder / listed.active.file).exists()
        is_whole = is_known and verifier.last_seq >= max(info.end_seq for info in listed.deltas)
        return (rebuilt, verifier) if is_whole and not verifier.findings else None

    def _write_rebuilt(self, manifest: Manifest, findings: list[Damage]) -> None:
        for each in findings:
            self._add(each, "rebuild the manifest from the files; nothing is lost")
        if self._is_executed:
            self._publish(manifest)

    # Snapshots

    def _set_snapshots_aside(self, findings: list[Damage], manifest: Manifest) -> Manifest:
        """The manifest without the damaged snapshots; they stay if nothing else holds the states of removed lines."""
        bad = {finding.file.removesuffix(GZIP_SUFFIX) for finding in findings}
        roots = {each.root for each in manifest.snapshots if each.plain in bad}
        sound = [
            each for each in manifest.snapshots if each.plain not in bad and each.base not in roots
        ]
        if self._has_needed_tombstone(replace(manifest, snapshots=tuple(sound))):
            action = (
                "restore this file from a backup: lines before it were removed, and no sound snapshot "
                "holds their states"
            )
            for finding in findings:
                self._add(finding, action, is_possible=False)
            return manifest
        for finding in findings:
            name = finding.file.removesuffix(GZIP_SUFFIX)
            listed = next((each for each in manifest.snapshots if each.plain == name), None)
            file, root = (name, None) if listed is None else (listed.file, listed.root)
            above = [each.plain for each in manifest.snapshots if root and each.base == root]
            also = f", and with it those that stand on it: {', '.join(above)}" if above else ""
            action = f"put {file} aside as {file}.corrupt{also}; what is sound of the others and the log are used"
            self._add(finding, action)
            manifest = self._without_snapshots(manifest, [name, *above])
        return manifest

    def _without_snapshots(self, manifest: Manifest, names: list[str]) -> Manifest:
        kept = tuple(info for info in manifest.snapshots if info.plain not in names)
        manifest = replace(manifest, snapshots=kept, generation=manifest.generation + 1)
        if self._is_executed:
            self._publish(manifest)
            for file in (file for each in names for file in (each, each + GZIP_SUFFIX)):
                self._rename_if_exists(file, f"{file}.corrupt")
            self._disk.sync_dir(self._folder)
        return manifest

    def _has_needed_tombstone(self, manifest: Manifest) -> bool:
        """Whether states depend on lines that were removed, and that no snapshot of this list covers."""
        try:
            archive = read_archive(self._folder, manifest)
        except (LedgerDamaged, OSError):
            archive = []
        base_seq, ranges = _base_seq(manifest), effective_ranges(manifest.rollbacks)
        return any(
            info.is_removed
            and info.end_seq > base_seq
            and any(low < info.end_seq <= up for low, up in ranges)
            for info in (*archive, *manifest.deltas)
        )

    # The log

    def _repair_segments(self, manifest: Manifest, segments: dict[DeltaInfo, Damage]) -> bool:
        """A step for each damaged delta; True if the log is cut at one of them, so that all behind it is settled."""
        base_seq = _base_seq(manifest)
        listed = {info.first_seq for info in manifest.deltas}
        for info, finding in segments.items():
            if self._has_surplus_only(info, finding):
                self._cut_surplus(info, finding)
            elif info.last_seq is not None and info.last_seq <= base_seq:
                manifest = self._bury(manifest, info, finding)
            elif info.first_seq in listed:
                self._cut(manifest, info, finding)
                return True
            else:
                action = "restore this file from a backup: it is archived, and no sound snapshot holds its states"
                self._add(finding, action, is_possible=False)
        return False

    def _has_surplus_only(self, info: DeltaInfo, finding: Damage) -> bool:
        """Whether all lines of a sealed delta are good, and something follows them."""
        path = self._folder / info.file
        if (finding.byte, finding.seq) != (info.bytes, info.end_seq + 1) or path.name != info.plain:
            return False
        return chain.head_of(path.read_bytes()[: finding.byte]).decode() == info.head

    def _cut_surplus(self, info: DeltaInfo, finding: Damage) -> None:
        path = self._folder / info.file
        data = path.read_bytes()
        good, surplus = data[: finding.byte], data[finding.byte :]
        # A sealed delta ends at the same byte each time, and what was kept of it before stays.
        torn = first = path.with_name(f"{path.name}.torn-{finding.byte}")
        for number in count(2):
            # The same bytes are there already if a crash came before the cut.
            if not torn.exists() or torn.read_bytes() == surplus:
                break
            torn = first.with_name(f"{first.name}-{number}")
        action = f"cut off what follows its last line, and keep it as {torn.name}; nothing is lost"
        self._add(finding, action)
        if self._is_executed:
            write_atomically(self._disk, torn, surplus)
            write_atomically(self._disk, path, good)

    def _bury(self, manifest: Manifest, info: DeltaInfo, finding: Damage) -> Manifest:
        """Replace a delta that only the history needs by a tombstone, so that the rest can be verified."""
        if info.merkle_span is None:
            action = (
                "states are not concerned: a snapshot holds them. Restore this file from a backup"
            )
            self._add(finding, action, is_possible=False)
            return manifest
        lost = info.end_seq - info.first_seq + 1
        action = (
            f"put a tombstone in its place; states are not concerned: a snapshot holds them. The history of {lost} "
            "records is lost unless a backup has this file"
        )
        self._add(finding, action, lost=lost)
        if not self._is_loss_accepted:
            return manifest
        stone = replace(info, removed_at=iso(self._clock()), reason=f"lost: {finding.sentence}")
        if info in manifest.deltas:
            deltas = tuple(stone if each == info else each for each in manifest.deltas)
            manifest = replace(manifest, deltas=deltas)
        else:
            manifest = append_to_archive(self._disk, self._folder, manifest, [stone])
        manifest = replace(manifest, generation=manifest.generation + 1)
        self._publish(manifest)
        self._put_aside(info)
        self._disk.sync_dir(self._folder)
        return manifest

    def _cut(self, manifest: Manifest, info: DeltaInfo, finding: Damage) -> None:
        """End the log before the first bad line: later ones may be sound, but the chain to them is broken.

        The good lines of the damaged delta become the active one, the rest is renamed. `HEAD` comes last: until it
        says where the log ends now, a crash leaves a ledger that refuses to open, not one that has forgotten lines.
        """
        byte, seq = finding.byte or 0, finding.seq or info.first_seq
        place = [each.first_seq for each in manifest.deltas].index(info.first_seq)
        try:
            # No list names these, as their first line cannot be read: whatever they hold comes after this delta.
            names = unlisted_deltas(self._folder, manifest)
        except (LedgerDamaged, OSError):
            names = []
        unlisted = (DeltaInfo(file=name, first_seq=info.first_seq, chain="") for name in names)
        gone = (*manifest.deltas[place:], *unlisted)
        last_seq = max(
            self._head.seq,
            *(each.end_seq for each in manifest.deltas),
            *(self._last_line(each) for each in gone),
        )
        lost = max(last_seq - seq + 1, 1)
        least = "" if self._head.is_whole else "at least "
        action = (
            f"keep {info.file} from byte {byte} on, and all later files, as ….damaged; go on after seq "
            f"{seq - 1}: {least}{lost} acknowledged records are lost unless a backup has them"
        )
        self._add(finding, action, lost=lost)
        if not self._is_loss_accepted:
            return
        good = b""
        try:
            for data in read_chunks(self._folder / info.file):
                good += data
                if len(good) >= byte:
                    break
        except (LedgerDamaged, FileNotFoundError):
            pass  # it is missing, or unreadable behind the good lines
        for each in gone:
            self._put_aside(each)
        write_atomically(self._disk, self._folder / info.plain, good[:byte])
        active = DeltaInfo(file=info.plain, first_seq=info.first_seq, chain=info.chain)
        shorter = replace(
            manifest,
            deltas=(*manifest.deltas[:place], active),
            snapshots=tuple(each for each in manifest.snapshots if each.last_seq < seq),
            rollbacks=tuple(each for each in manifest.rollbacks if each[0] < seq),
            generation=manifest.generation + 1,
        )
        write_manifest(self._disk, self._folder, shorter)
        self._write_head(seq=seq - 1, size=byte, generation=shorter.generation)

    def _last_line(self, info: DeltaInfo) -> int:
        """The greatest seq that a line of this delta or its index names, however damaged the file is."""
        loaded = DeltaIndex.load(self._folder / sidecar(info.file, INDEX_SUFFIX), salt=None)
        last, rest = loaded[1].seq if loaded else 0, b""
        try:
            for data in read_chunks(self._folder / info.file):
                *lines, rest = (rest + data).split(b"\n")
                for text in filter(None, lines):
                    found = chain.position_of(text + b"\n")
                    if found is not None and found[0] - info.first_seq <= SEGMENT_LINES_MAX:
                        last = max(last, found[0])
        except (LedgerDamaged, OSError):
            pass  # it is about what can still be read
        return last

    def _repair_other(self, finding: Damage, *, last_seq: int) -> None:
        """What concerns no delta: an index that is derived, or a HEAD that knows more than the log."""
        if finding.file.endswith(INDEX_SUFFIX):
            self._add(finding, "put it aside; it is made anew from the lines, and nothing is lost")
            if self._is_executed:
                self._rename_if_exists(finding.file, f"{finding.file}.damaged")
                self._disk.sync_dir(self._folder)
            return
        if finding.file != HEAD:
            self._add(finding, "restore the file from a backup", is_possible=False)
            return
        lost = max(self._head.seq - last_seq, 1)
        action = (
            "believe the log, as after restoring an older backup: what HEAD knew beyond it is lost"
        )
        self._add(finding, action, lost=lost)
        if self._is_loss_accepted:
            self._rename_if_exists(HEAD, f"{HEAD}.damaged")
            self._disk.sync_dir(self._folder)

    def _write_lost_head(self, last_seq: int) -> None:
        """Whether lines are missing at the end nothing can say: that this is accepted is for a person to say."""
        finding = Damage(file=HEAD, seq=last_seq, sentence=HEAD_LOST.format(seq=last_seq))
        action = "believe the log, and write it anew: lines that were lost at the end are not missed any more"
        self._add(finding, action, lost=0)
        if self._is_loss_accepted and all(each.is_possible for each in self._steps):
            self._rename_if_exists(HEAD, f"{HEAD}.damaged")
            manifest = read_manifest(self._folder)
            generation = manifest.generation if manifest else 1
            self._write_head(seq=last_seq, size=0, generation=generation)

    def _publish(self, manifest: Manifest) -> None:
        """Replace the list of files, which must not be two ahead of `HEAD` (see there)."""
        if self._head.is_whole:
            seq = max(self._head.seq, manifest.active.first_seq - 1)
            self._write_head(seq=seq, size=0, generation=manifest.generation - 1)
        write_manifest(self._disk, self._folder, manifest)

    def _write_head(self, *, seq: int, size: int, generation: int) -> None:
        """Both slots, so that both say how far the log goes."""
        slot = head_slot(seq=seq, size=size, generation=generation)
        write_atomically(self._disk, self._folder / HEAD, 2 * slot)

    def _put_aside(self, info: DeltaInfo) -> None:
        """Keep a delta beside, in whichever form it is there; its index and tiles are derived and can go."""
        for name in dict.fromkeys((info.file, info.plain)):
            self._rename_if_exists(name, f"{name}.damaged")
        for suffix in (INDEX_SUFFIX, TREE_SUFFIX):
            unlink_if_exists(self._disk, self._folder / (info.plain + suffix))

    def _rename_if_exists(self, name: str, new_name: str) -> None:
        if (self._folder / name).exists():
            self._disk.rename(self._folder / name, self._folder / new_name)


def _base_seq(manifest: Manifest) -> int:
    """The last line that the newest snapshot in effect covers; all of the manifest's snapshots are sound."""
    ranges = effective_ranges(manifest.rollbacks)
    seqs = (info.last_seq for info in manifest.snapshots)
    return next((seq for seq in seqs if any(low <= seq <= up for low, up in ranges)), 0)

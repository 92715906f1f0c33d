"""Says what can be done about damage, and does it on request. Never guesses.

What costs nothing is tried first: with a manifest that is rebuilt from the files, the whole log may be sound. `repair`
lists what it would do and does it only with `execute`. It never deletes: bytes that have to go are kept
beside, as `….torn-<byte>`, `….corrupt` or `….damaged`. What costs acknowledged records is done only with
`accept_loss`, and the number is given. What cannot be repaired is listed too: a backup must be restored then.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import Damage, LedgerDamaged, LedgerError
from stateward.ledger import chain
from stateward.ledger.delta import read_chunks
from stateward.ledger.delta_index import INDEX_SUFFIX, DeltaIndex
from stateward.ledger.disk import Disk, unlink_if_exists, write_atomically
from stateward.ledger.head import head_slot, read_head
from stateward.ledger.manifest import (
    GZIP_SUFFIX,
    HEAD,
    TREE_SUFFIX,
    DeltaInfo,
    Manifest,
    SnapshotInfo,
    append_to_archive,
    effective_ranges,
    is_ledger,
    iso,
    read_archive,
    read_manifest,
    sidecar,
    write_manifest,
)
from stateward.ledger.verification import BadSegment, LedgerVerifier
from stateward.ledger.view import (
    HEAD_LOST,
    SEQ_MAX,
    Progress,
    no_progress,
    rebuilt_manifest,
    unlisted_deltas,
)
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
        verifier.check_log(manifest)
        if verifier.listed is None:
            self._rebuild(manifest, [verifier.findings.pop(0)])
        elif (
            verifier.findings and (mended := self._rebuild_manifest(manifest, progress)) is not None
        ):
            manifest, checked = mended
            self._rebuild(manifest, verifier.findings)
            verifier = checked
        of_log = list(verifier.findings)
        verifier.findings.clear()
        verifier.check_snapshots(manifest)
        manifest = self._set_snapshots_aside(verifier.findings, manifest)
        for note in verifier.notes:
            self._add(note, "cut it off and keep the bytes beside; opening does that by itself")
        if not self._repair_segments(manifest, verifier.bad_segments):
            bad = {each.info.file for each in verifier.bad_segments}
            for finding in of_log:
                if finding.file not in bad:
                    self._repair_other(finding, last_seq=verifier.last_seq)
            if not read_head(self._folder).is_whole and verifier.last_seq:
                self._write_lost_head(verifier.last_seq)
        return self._steps

    def _add(
        self, finding: Damage, action: str, *, lost: int | None = None, is_possible: bool = True
    ) -> None:
        """A step; with `lost`, one that has to be accepted because it costs so many records."""
        self._steps.append(
            RepairStep(
                finding=finding,
                action=action,
                lost=lost or 0,
                needs_accept_loss=lost is not None,
                is_possible=is_possible,
            )
        )

    # The manifest

    def _rebuild_manifest(
        self, listed: Manifest, progress: Progress
    ) -> tuple[Manifest, LedgerVerifier] | None:
        """The manifest that the files imply, if the whole log is sound with it: nothing is lost then."""
        try:
            rebuilt = rebuilt_manifest(self._folder)
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
        is_known = read_head(self._folder).is_whole or (self._folder / listed.active.file).exists()
        is_whole = is_known and verifier.last_seq >= max(info.end_seq for info in listed.deltas)
        return (rebuilt, verifier) if is_whole and not verifier.findings else None

    def _rebuild(self, manifest: Manifest, findings: list[Damage]) -> None:
        for each in findings:
            self._add(each, "rebuild the manifest from the files; nothing is lost")
        if self._is_executed:
            write_manifest(self._disk, self._folder, manifest)

    # Snapshots

    def _set_snapshots_aside(self, findings: list[Damage], manifest: Manifest) -> Manifest:
        """The manifest without the damaged snapshots; they stay if nothing else holds the states of removed lines."""
        bad = {finding.file.removesuffix(GZIP_SUFFIX) for finding in findings}
        roots = {each.root for each in manifest.snapshots if _plain_name(each) in bad}
        sound = [
            each for each in manifest.snapshots
            if _plain_name(each) not in bad and each.base not in roots
        ]  # fmt: skip
        if not self._has_needed_tombstone(replace(manifest, snapshots=tuple(sound))):
            for finding in findings:
                manifest = self._set_snapshot_aside(finding, manifest)
            return manifest
        action = (
            "restore this file from a backup: lines before it were removed, and no sound snapshot "
            "holds their states"
        )
        for finding in findings:
            self._add(finding, action, is_possible=False)
        return manifest

    def _has_needed_tombstone(self, manifest: Manifest) -> bool:
        """Whether states depend on lines that were removed, and that no snapshot of this list covers."""
        try:
            archive = read_archive(self._folder, manifest)
        except (LedgerDamaged, OSError):
            archive = []
        base_seq, ranges = _base_seq(manifest), _effective_ranges(manifest)
        return any(
            info.is_removed
            and info.end_seq > base_seq
            and any(low < info.end_seq <= up for low, up in ranges)
            for info in (*archive, *manifest.deltas)
        )

    def _set_snapshot_aside(self, finding: Damage, manifest: Manifest) -> Manifest:
        """Take a damaged snapshot off the list; the manifest without it."""
        name = finding.file.removesuffix(GZIP_SUFFIX)
        listed = next((each for each in manifest.snapshots if _plain_name(each) == name), None)
        file, root = (name, None) if listed is None else (listed.file, listed.root)
        above = [_plain_name(each) for each in manifest.snapshots if root and each.base == root]
        action = (
            f"put {file} aside as {file}.corrupt"
            + (f", and with it those that stand on it: {', '.join(above)}" if above else "")
            + "; what is sound of the others and the log are used"
        )
        self._add(finding, action)
        gone = (name, *above)
        kept = tuple(info for info in manifest.snapshots if _plain_name(info) not in gone)
        manifest = replace(manifest, snapshots=kept, generation=manifest.generation + 1)
        if self._is_executed:
            write_manifest(self._disk, self._folder, manifest)
            for file in (file for each in gone for file in (each, each + GZIP_SUFFIX)):
                self._rename_if_exists(file, f"{file}.corrupt")
            self._disk.sync_dir(self._folder)
        return manifest

    # The log

    def _repair_segments(self, manifest: Manifest, segments: list[BadSegment]) -> bool:
        """A step for each damaged delta; True if the log is cut at one of them, so that all behind it is settled."""
        base_seq = _base_seq(manifest)
        listed = {info.first_seq for info in manifest.deltas}
        for bad in segments:
            info = bad.info
            if self._has_surplus_only(bad):
                self._cut_surplus(bad)
            elif info.last_seq is not None and info.last_seq <= base_seq:
                manifest = self._bury(manifest, bad)
            elif info.first_seq in listed:
                self._cut(manifest, bad)
                return True
            else:
                action = "restore this file from a backup: it is archived, and no sound snapshot holds its states"
                self._add(bad.finding, action, is_possible=False)
        return False

    def _has_surplus_only(self, bad: BadSegment) -> bool:
        """Whether all lines of a sealed delta are good, and something follows them."""
        info, path = bad.info, self._folder / bad.info.file
        if (bad.byte, bad.seq) != (info.bytes, info.end_seq + 1) or path.suffix == GZIP_SUFFIX:
            return False
        return chain.head_of(path.read_bytes()[: bad.byte]).decode() == info.head

    def _cut_surplus(self, bad: BadSegment) -> None:
        path = self._folder / bad.info.file
        data = path.read_bytes()
        torn = _kept_at(path.with_name(f"{path.name}.torn-{bad.byte}"), data[bad.byte :])
        action = f"cut off what follows its last line, and keep it as {torn.name}; nothing is lost"
        self._add(bad.finding, action)
        if self._is_executed:
            write_atomically(self._disk, torn, data[bad.byte :])
            write_atomically(self._disk, path, data[: bad.byte])

    def _bury(self, manifest: Manifest, bad: BadSegment) -> Manifest:
        """Replace a delta that only the history needs by a tombstone, so that the rest can be verified."""
        info = bad.info
        if info.merkle_span is None:
            action = (
                "states are not concerned: a snapshot holds them. Restore this file from a backup"
            )
            self._add(bad.finding, action, is_possible=False)
            return manifest
        lost = info.end_seq - info.first_seq + 1
        action = (
            f"put a tombstone in its place; states are not concerned: a snapshot holds them. The history of {lost} "
            "records is lost unless a backup has this file"
        )
        self._add(bad.finding, action, lost=lost)
        if not self._is_loss_accepted:
            return manifest
        stone = replace(info, removed_at=iso(self._clock()), reason=f"lost: {bad.finding.sentence}")
        if info in manifest.deltas:
            deltas = tuple(stone if each == info else each for each in manifest.deltas)
            manifest = replace(manifest, deltas=deltas)
        else:
            manifest = append_to_archive(self._disk, self._folder, manifest, [stone])
        manifest = replace(manifest, generation=manifest.generation + 1)
        write_manifest(self._disk, self._folder, manifest)
        self._put_aside(info)
        self._disk.sync_dir(self._folder)
        return manifest

    def _cut(self, manifest: Manifest, bad: BadSegment) -> None:
        """End the log before the first bad line. Later lines may be sound, but the chain to them is broken."""
        lost = max(self._last_known_seq(manifest, bad.info) - bad.seq + 1, 1)
        least = "" if read_head(self._folder).is_whole else "at least "
        action = (
            f"keep {bad.info.file} from byte {bad.byte} on, and all later files, as ….damaged; go on after seq "
            f"{bad.seq - 1}: {least}{lost} acknowledged records are lost unless a backup has them"
        )
        self._add(bad.finding, action, lost=lost)
        if self._is_loss_accepted:
            self._cut_log(manifest, bad.info, bad.byte, bad.seq)

    def _last_known_seq(self, manifest: Manifest, first: DeltaInfo) -> int:
        """The last line that is known of from this delta on: by HEAD, the manifest, an index or a line itself."""
        last = read_head(self._folder).seq
        for info in manifest.deltas:
            last = max(last, info.end_seq)
            if info.first_seq >= first.first_seq:
                last = max(last, self._last_line(info))
        return max(last, *map(self._last_line, self._unlisted_after(manifest, first)), 0)

    def _unlisted_after(self, manifest: Manifest, first: DeltaInfo) -> list[DeltaInfo]:
        """Deltas that no list names, as their first line cannot be read: whatever they hold comes after this one."""
        try:
            names = unlisted_deltas(self._folder, manifest)
        except (LedgerDamaged, OSError):
            return []
        return [DeltaInfo(file=name, first_seq=first.first_seq, chain="") for name in names]

    def _last_line(self, info: DeltaInfo) -> int:
        """The greatest seq that a line of this delta or its index names, however damaged the file is."""
        index = self._folder / sidecar(info.file, INDEX_SUFFIX)
        loaded = DeltaIndex.load(index, salt=None)
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
        lost = max(read_head(self._folder).seq - last_seq, 1)
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
            self._write_head(seq=last_seq, size=0)

    def _cut_log(self, manifest: Manifest, info: DeltaInfo, byte: int, seq: int) -> None:
        """Make the good lines of the damaged delta the active one; rename the rest.

        `HEAD` comes last: until it says `seq - 1`, a crash leaves a ledger that refuses to open, not one that has
        forgotten lines silently.
        """
        place = [each.first_seq for each in manifest.deltas].index(info.first_seq)
        path = self._folder / info.file.removesuffix(GZIP_SUFFIX)
        good = b""
        try:
            for data in read_chunks(self._folder / info.file):
                good += data
                if len(good) >= byte:
                    break
        except (LedgerDamaged, FileNotFoundError):
            pass  # it is missing, or unreadable behind the good lines
        for each in (*manifest.deltas[place:], *self._unlisted_after(manifest, info)):
            self._put_aside(each)
        write_atomically(self._disk, path, good[:byte])
        active = DeltaInfo(file=path.name, first_seq=info.first_seq, chain=info.chain)
        write_manifest(
            self._disk,
            self._folder,
            replace(
                manifest,
                deltas=(*manifest.deltas[:place], active),
                snapshots=tuple(each for each in manifest.snapshots if each.last_seq < seq),
                rollbacks=tuple(each for each in manifest.rollbacks if each[0] < seq),
                generation=manifest.generation + 1,
            ),
        )
        self._write_head(seq=seq - 1, size=byte)

    def _write_head(self, *, seq: int, size: int) -> None:
        """Both slots, so that both say how far the log goes."""
        manifest = read_manifest(self._folder)
        slot = head_slot(seq=seq, size=size, generation=manifest.generation if manifest else 1)
        write_atomically(self._disk, self._folder / HEAD, 2 * slot)

    def _put_aside(self, info: DeltaInfo) -> None:
        """Keep a delta beside, in whichever form it is there; its index and tiles are derived and can go."""
        plain = info.file.removesuffix(GZIP_SUFFIX)
        for name in dict.fromkeys((info.file, plain)):
            self._rename_if_exists(name, f"{name}.damaged")
        for suffix in (INDEX_SUFFIX, TREE_SUFFIX):
            unlink_if_exists(self._disk, self._folder / (plain + suffix))

    def _rename_if_exists(self, name: str, new_name: str) -> None:
        if (self._folder / name).exists():
            self._disk.rename(self._folder / name, self._folder / new_name)


def _kept_at(path: Path, data: bytes) -> Path:
    """Where bytes are kept: a sealed delta ends at the same byte each time, and what was kept of it before stays."""
    number, free = 1, path
    # The same bytes are there already if a crash came before the cut.
    while free.exists() and free.read_bytes() != data:
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _plain_name(info: SnapshotInfo) -> str:
    return info.file.removesuffix(GZIP_SUFFIX)


def _base_seq(manifest: Manifest) -> int:
    """The last line that the newest snapshot in effect covers; all of the manifest's snapshots are sound."""
    ranges = _effective_ranges(manifest)
    in_effect = (
        info.last_seq
        for info in manifest.snapshots
        if any(low <= info.last_seq <= up for low, up in ranges)
    )
    return next(in_effect, 0)


def _effective_ranges(manifest: Manifest) -> list[tuple[int, int]]:
    return effective_ranges(manifest.rollbacks, last_seq=SEQ_MAX)

"""An export is verified without the store: each of its files, and with a checkpoint that was kept elsewhere."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stateward.engine.export_check import check_export
from stateward.engine.history import checkpoint_of, export
from stateward.ledger.verification import LedgerVerification
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.proofs.checkpoints import CheckpointSigner, CheckpointVerifier
from stateward.proofs.history_checkpoint import (
    HistoryCheckpoint,
    make_checkpoint,
    read_checkpoint,
)
from stateward.storage.audit import EXPORTED, HELD, AuditEntry, AuditLog
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.row_seals import insert_sealed, reseal, stored_digests
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.store import DISPOSITIONS
from stateward.testing.rig import Rig
from tests.engine import edits
from tests.engine.forger import Forger

SIGNER = CheckpointSigner(name="example.org/ours", seed=b"s" * 32)
Lines = list[str]
ACT = AuditEntry(at=9, actor="person:ann", verb=EXPORTED, detail={"what": "items", "a": [1]})


class Place:
    """A store with three records in two lanes, and its export."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = SqliteDatabase(MEMORY)
        self.rig = Rig(self.database, [UPLOAD])
        self.rig.store.lanes.make(2, now=1)
        self.rig.store.seal_former_rows(now=1)
        self.audit = AuditLog(self.database)
        self.work(3)
        held = AuditEntry(at=9, actor="person:ann", verb=HELD, record_id="UL_1", reason="case 12")
        self.audit.add([ACT, held])
        self.events(2)
        self.rig.store.dead_letters.add([_letter("{")])

    def events(self, count: int) -> None:
        """Events that changed nothing."""
        rows = [
            (f"e{n}", "parse.completed", "UL_1", n or None, "worker:w", "stale", "", 9)
            for n in range(count)
        ]
        with self.database.transaction():
            insert_sealed(self.database, DISPOSITIONS, rows, new_salt=self.rig.store.new_salt)

    def erase_letters(self) -> None:
        with self.database.transaction():
            before = Counter(
                (kind, digest)
                for kind, _, digest in stored_digests(self.database)
                if kind == "dead_letters"
            )
            self.database.run("DELETE FROM dead_letters")
            reseal(self.database, before, [], at=9)

    def work(self, records: int) -> None:
        self.rig.worker()
        for number in range(records):
            self.rig.open(labels={"number": number})
        self.rig.run()

    def checkpoint(self) -> HistoryCheckpoint:
        made = checkpoint_of(self.rig.store, self.audit, signer=None, is_stored=False)
        return read_checkpoint(made)

    def export(
        self,
        *,
        signer: CheckpointSigner | None = None,
        progress: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        export(self.rig.store, self.folder, audit=self.audit, signer=signer, progress=progress)

    def edit(self, name: str, change: Callable[[Lines], Lines]) -> None:
        lines = change((self.folder / name).read_text("utf-8").splitlines())
        (self.folder / name).write_text("".join(f"{each}\n" for each in lines), "utf-8")

    def verify(
        self,
        kept: HistoryCheckpoint | None = None,
        *,
        signed_by: CheckpointSigner | None = None,
    ) -> LedgerVerification:
        key = None if signed_by is None else _public(signed_by)
        return check_export(self.folder, kept=kept, progress=lambda *_: None, signed_by=key)


def _public(signer: CheckpointSigner) -> CheckpointVerifier:
    private = Ed25519PrivateKey.from_private_bytes(signer.seed)
    return CheckpointVerifier(signer.name, private.public_key().public_bytes_raw())


def _letter(body: str) -> DeadLetter:
    return DeadLetter(kind="event", body=body, reason="no JSON", at=9)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "history")
    yield made
    made.database.close()


def test_an_export_is_sound_and_that_of_its_checkpoints(place: Place) -> None:
    kept = place.checkpoint()
    place.work(2)
    place.audit.add([ACT])
    place.export(signer=SIGNER)

    found = place.verify(kept)

    assert (found.findings, found.notes, found.lines) == ((), (), 25)


EDITS: list[tuple[str, str, Callable[[Lines], Lines], str]] = [
    ("a label", "records.jsonl", lambda own: [own[0].replace('"number":', '"eve":'), *own[1:]], "a field was changed"),
    ("a status", "records.jsonl", lambda own: [own[0].replace('"normalized"', '"parsed"'), *own[1:]], "it is 'parsed'"),
    ("an older version", "records.jsonl", lambda own: [own[0].replace('"version":4', '"version":3'), *own[1:]],
     "is at version 3"),
    ("a record is gone", "records.jsonl", lambda own: own[1:], "it has transitions, and is not there"),
    ("records in another order", "records.jsonl", lambda own: [own[1], own[0], *own[2:]],
     "not in the order of the ids"),
    ("another name of the history", "checkpoints.jsonl", lambda own: [own[0].replace("ard.local", "ard.locel")],
     "is that of"),
    ("a record twice", "records.jsonl", lambda own: [*own, own[0]], "it is there twice"),
    ("a second key", "records.jsonl", lambda own: ['{"status":"parsed",' + own[0][1:], *own[1:]], "not as the export"),
    ("a number in another form", "records.jsonl", lambda own: [own[0].replace('"version":4', '"version":4.0')],
     "not as the export wrote it"),
    ("no record", "records.jsonl", lambda own: ["{}", *own], "not as the export wrote it"),
    ("no JSON", "records.jsonl", lambda own: ["{", *own], "cannot be read"),
    ("who acted", "audit.jsonl", lambda own: [each.replace("ann", "eve") for each in own], "was changed"),
    ("why", "audit.jsonl", lambda own: [each.replace("case 12", "case 13") for each in own], "was changed"),
    ("an act is gone", "audit.jsonl", lambda own: [own[0], *own[2:]], "is missing: the next one is 3"),
    ("the last act is cut off", "audit.jsonl", lambda own: own[:-1], "and the checkpoint counts"),
    ("all acts are cut off", "audit.jsonl", lambda _: [], "and the checkpoint counts"),
    ("the checkpoint", "checkpoints.jsonl", lambda own: [own[0].replace("lane 0 ", "lane 0 1")], "checkpoint"),
    ("an event that changed nothing", "dispositions.jsonl",
     lambda own: [own[0].replace("worker:w", "worker:x"), *own[1:]], "the line was changed, doubled or invented"),
    ("an event is gone", "dispositions.jsonl", lambda own: own[1:], "1 were changed or deleted"),
    ("an event twice", "dispositions.jsonl", lambda own: [*own, own[0]], "changed, doubled or invented"),
    ("an event is invented", "dispositions.jsonl", lambda own: [*own, own[0].replace("e0", "e9")],
     "changed, doubled or invented"),
    ("an event without its salt", "dispositions.jsonl", lambda own: [re.sub(',"salt":"[0-9a-f]+"', "", own[0])],
     "not as the export wrote it"),
    ("a time in another form", "dispositions.jsonl", lambda own: [re.sub("(000009)", "0000090", own[0])],
     "not as the export wrote it"),
    ("events are gone", "dispositions.jsonl", lambda _: [], "2 were changed or deleted"),
    ("a dead letter", "dead_letters.jsonl", lambda own: [own[0].replace('"{"', '"["')], "changed, doubled or invented"),
    ("dead letters are gone", "dead_letters.jsonl", lambda _: [], "1 were changed or deleted"),
    ("the last transition is cut off", "transitions.jsonl", lambda own: own[:-1], "its head counts"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [each[1:] for each in EDITS],
    ids=[f"{each[0]} of {each[1]}" for each in EDITS],
)
def test_a_changed_file_of_an_export_is_found(
    place: Place, name: str, change: Callable[[Lines], Lines], sentence: str
) -> None:
    place.export(signer=SIGNER)
    place.edit(name, change)

    found = place.verify()

    assert any(sentence in str(each) for each in found.findings), found.findings


@pytest.mark.parametrize(
    "name",
    [
        "records.jsonl",
        "audit.jsonl",
        "checkpoints.jsonl",
        "dispositions.jsonl",
        "dead_letters.jsonl",
    ],
)
def test_a_missing_file_of_an_export_is_found(place: Place, name: str) -> None:
    place.export()
    (place.folder / name).unlink()

    assert any(each.file == name for each in place.verify().findings)


def test_a_rewritten_export_is_found_by_a_checkpoint(place: Place) -> None:
    kept = place.checkpoint()
    forger = Forger(place.rig)
    edits.rename(forger)
    forger.seal_all()
    forger.write()
    place.export()

    assert place.verify().is_sound
    found = [str(each) for each in place.verify(kept).findings]
    assert any("lane 0" in each and "rewritten" in each for each in found)
    assert any(each.startswith("audit.jsonl") for each in found)


def test_an_export_proves_itself_by_the_key_that_signed_its_checkpoint(place: Place) -> None:
    stranger = CheckpointSigner(name=SIGNER.name, seed=b"t" * 32)
    place.export(signer=SIGNER)
    assert place.verify(signed_by=SIGNER).findings == ()

    (of_another,) = place.verify(signed_by=stranger).findings
    place.edit("checkpoints.jsonl", lambda _: [])
    (gone,) = place.verify(signed_by=SIGNER).findings

    assert "it carries no good signature of example.org/ours" in str(of_another)
    assert "there is none, and so none that example.org/ours has signed" in str(gone)


def test_an_export_that_is_older_than_a_checkpoint_is_refused(place: Place) -> None:
    place.export()
    place.work(1)
    place.audit.add([ACT])

    found = [str(each) for each in place.verify(place.checkpoint()).findings]

    assert any("or this is an older copy" in each for each in found)
    assert any("and the checkpoint counts" in each for each in found)


def test_a_checkpoint_with_the_trees_of_another_history_is_refused(place: Place) -> None:
    kept = place.checkpoint()
    place.export()
    other = make_checkpoint(kept.lanes, audit=kept.audit, trees=dict.fromkeys(kept.trees, "f" * 64))

    found = [str(each) for each in place.verify(read_checkpoint(other)).findings]

    assert sum("the checkpoint has another root for it" in each for each in found) == 2
    assert any("are not those of the checkpoint" in each for each in found)


def test_what_moved_while_an_export_was_made_is_told(place: Place) -> None:
    place.export()
    place.edit(
        "records.jsonl", lambda own: [re.sub('"version":[0-9]+', '"version":99', own[0]), *own[1:]]
    )

    found = place.verify()

    assert found.is_sound
    assert any("1 record moved after the export began" in str(each) for each in found.notes)


def test_what_was_erased_is_missing_and_that_is_no_finding(place: Place) -> None:
    place.erase_letters()
    place.export()

    assert (place.folder / "dead_letters.jsonl").read_text() == ""
    assert place.verify().findings == ()


def test_rows_that_come_and_go_while_an_export_is_made_are_no_finding(place: Place) -> None:
    seen: list[str] = []

    def work_on(name: str, _count: int) -> None:
        seen.append(name)
        if seen.count(name) > 1:
            return
        if name == "dispositions.jsonl":
            place.events(3)
            place.rig.store.dead_letters.add([_letter("]")])
        if name == "dead_letters.jsonl":
            place.erase_letters()

    place.export(progress=work_on)

    assert place.verify().findings == ()
    assert seen.count("dispositions.jsonl") == 2  # once more, after the erasure
    assert len((place.folder / "dispositions.jsonl").read_text().splitlines()) == 5


def test_an_event_that_was_forged_in_the_store_is_in_the_export_and_found_there(
    place: Place,
) -> None:
    place.database.run("UPDATE dispositions SET actor = 'person:eve' WHERE event_id = 'e0'")
    place.export()

    found = [str(each) for each in place.verify().findings]

    assert "person:eve" in (place.folder / "dispositions.jsonl").read_text()
    assert [each.partition(": ")[2] for each in found] == [
        "the line was changed, doubled or invented",
        "1 were changed or deleted",
    ]


def test_an_act_is_exported_with_the_text_that_is_hashed(place: Place) -> None:
    """In the order of its keys: an auditor computes the hash from the line."""
    place.export()

    (line,) = [
        each
        for each in (place.folder / "audit.jsonl").read_text("utf-8").splitlines()
        if json.loads(each)["verb"] == EXPORTED
    ]

    assert '"detail":{"what":"items","a":[1]}' in line


@pytest.mark.parametrize(
    "name",
    ["anchor.json", "records.jsonl", "audit.jsonl", "checkpoints.jsonl", "dispositions.jsonl"],
)
def test_a_pipe_in_the_place_of_a_file_is_a_finding_and_holds_no_one_up(
    place: Place, name: str
) -> None:
    place.export()
    (place.folder / name).unlink()
    os.mkfifo(place.folder / name)

    found = [str(each) for each in place.verify().findings if each.file == name]

    assert found
    assert "not a regular file" in found[0]

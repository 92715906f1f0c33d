"""The service's own history in a ledger: all of it, in order, once, and never in the way of the service."""

import errno
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.app.doctor import checks
from stateward.engine.mirror import Mirror, compare, mirror_state
from stateward.ledger import (
    DOCUMENT_MACHINE,
    Ledger,
    LedgerEntry,
    chain,
    generate_key,
    parse_verifier,
    verify,
)
from stateward.ledger.mirrored import MIRRORED
from stateward.settings import Settings
from tests.ledger.builders import Clock, QuickDisk
from tests.ledger.receiver import receiving
from tests.waiting import wait_until


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App.embedded(tmp_path / "data") as app:
        yield app


def submit(app: App, count: int, *, start: int = 0) -> None:
    for number in range(start, start + count):
        statement = f"Date,Amount,Text\n2026-01-{13 + number},-1.00,row {number}\n"
        app.submit(statement.encode(), actor="person:ann")


def test_with_its_machines_a_mirror_knows_ends_and_nonsense(tmp_path: Path) -> None:
    machine = DOCUMENT_MACHINE

    def an_entry(seq: int, doc_id: str, old: str | None, new: str) -> LedgerEntry:
        return LedgerEntry(
            doc_id=doc_id, state=new, old_state=old, adapter=machine.name, source_seq=seq, timestamp=1.0,
            metadata={"machine_version": machine.version},
        )  # fmt: skip

    moves = [("a", None, "pending"), ("a", "pending", "skipped"), ("b", None, "pending")]
    with Ledger.open(tmp_path / "l", machine=None, disk=QuickDisk(), clock=Clock()) as ledger:
        ledger.mirror(
            [an_entry(at, *move) for at, move in enumerate(moves, 1)], source="another service"
        )
    opened = {"read_only": True, "machine": None, "machines": [machine], "clock": Clock()}

    with Ledger.open(tmp_path / "l", **opened) as ledger:  # type: ignore[arg-type]
        assert [each.doc_id for each in ledger.stuck(older_than=timedelta(0))] == ["b"]
        assert ledger.next_states("b") == ("fetching", "skipped")
        assert list(ledger.replay()) == []
    with Ledger.open(tmp_path / "l", machine=None, disk=QuickDisk(), clock=Clock()) as ledger:
        ledger.mirror([an_entry(4, "b", "pending", "indexed")], source="another service")
        other = replace(an_entry(5, "c", None, "x"), adapter="unheard of")
        later = an_entry(6, "d", None, "fetched")
        imported = {**later.metadata, "trigger": machine.imported_by}
        begun = replace(later, doc_id="e", source_seq=7, metadata=imported)
        ledger.mirror([other, later, begun], source="another service")

    with Ledger.open(tmp_path / "l", **opened) as ledger:  # type: ignore[arg-type]
        found = [each.sentence for each in ledger.replay()]
    assert len(found) == 3
    assert "pending → indexed is no move" in found[0]
    assert "no machine 'unheard of'" in found[1]
    assert "d began in fetched" in found[2]


class Ticks:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def a_mirror(app: App, folder: Path, **how: object) -> tuple[Mirror, list[str], Ticks]:
    said: list[str] = []
    ticks = Ticks()
    parts: dict[str, object] = {"disk": QuickDisk(), "batch_max": 3, **how}
    mirror = Mirror(app.store, folder, clock=app.clock, ticks=ticks, warn=said.append, **parts)  # type: ignore[arg-type]
    return mirror, said, ticks


def test_every_transition_is_mirrored_once_and_in_order(app: App, tmp_path: Path) -> None:
    submit(app, 5)
    mirror, said, _ = a_mirror(app, tmp_path / "ledger")

    steps = [mirror.step() for _ in range(3)]
    mirror.close()

    with Ledger.open(tmp_path / "ledger", read_only=True, machine=None) as ledger:
        seqs = [each.source_seq for each in ledger.records()]
    assert (steps, said) == ([3, 2, 0], [])
    assert seqs == [1, 2, 3, 4, 5]
    assert compare(app.store, tmp_path / "ledger").is_same
    assert verify(tmp_path / "ledger").is_sound


def test_a_mirror_goes_on_where_it_stopped(app: App, tmp_path: Path) -> None:
    submit(app, 4)
    first, _, _ = a_mirror(app, tmp_path / "ledger")
    first.step()
    first.close()
    submit(app, 2, start=4)

    second, said, _ = a_mirror(app, tmp_path / "ledger", batch_max=100)
    count = second.step()
    second.close()

    assert (count, said) == (3, [])
    found = compare(app.store, tmp_path / "ledger")
    assert (found.is_same, found.compared, found.behind) == (True, 6, 0)


class FullDisk(QuickDisk):
    """No space, until there is."""

    def __init__(self) -> None:
        self.is_full = False

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write_at(fd, data, offset)


def test_a_full_disk_is_said_once_and_endured(app: App, tmp_path: Path) -> None:
    disk = FullDisk()
    mirror, said, ticks = a_mirror(app, tmp_path / "ledger", disk=disk)
    submit(app, 1)
    mirror.step()
    disk.is_full = True
    submit(app, 1, start=1)

    during = [mirror.step() for _ in range(5)]
    disk.is_full = False
    ticks.now += 61
    after = mirror.step()
    mirror.close()

    assert (during, after) == ([0] * 5, 1)
    assert len(said) == 2
    assert "No space left" in said[0]
    assert "goes on" in said[1]
    assert compare(app.store, tmp_path / "ledger").compared == 2


def test_a_ledger_of_another_database_is_refused(app: App, tmp_path: Path) -> None:
    submit(app, 3)
    mirror, _, _ = a_mirror(app, tmp_path / "ledger")
    mirror.step()
    mirror.close()
    with App.embedded(tmp_path / "other") as other:
        submit(other, 3, start=100)
        strange, said, _ = a_mirror(other, tmp_path / "ledger")
        strange.step()
        strange.close()
        found = compare(other.store, tmp_path / "ledger")

    assert "ledger of another database" in said[0]
    assert found.difference is not None
    assert found.difference.startswith("entry 1, record_id: the history has ")


def test_while_another_process_mirrors_this_one_waits_in_silence(app: App, tmp_path: Path) -> None:
    submit(app, 1)
    first, _, _ = a_mirror(app, tmp_path / "ledger")
    first.step()
    second, said, ticks = a_mirror(app, tmp_path / "ledger")

    waited = second.step()
    first.close()
    submit(app, 1, start=1)
    ticks.now += 6
    taken_over = second.step()
    second.close()

    assert (waited, taken_over, said) == (0, 1, [])


def test_a_ledger_that_was_rolled_back_is_filled_again(app: App, tmp_path: Path) -> None:
    submit(app, 2)
    mirror, said, _ = a_mirror(app, tmp_path / "ledger", batch_max=100)
    mirror.step()
    mirror.close()
    with Ledger.open(tmp_path / "ledger", machine=None, disk=QuickDisk()) as ledger:
        ledger.compact()
    submit(app, 2, start=2)
    again, _, _ = a_mirror(app, tmp_path / "ledger", batch_max=100)
    again.step()
    again.close()
    with Ledger.open(tmp_path / "ledger", machine=None, disk=QuickDisk()) as ledger:
        ledger.rollback(2)
        assert ledger.source_seq(MIRRORED) == 2

    third, said, _ = a_mirror(app, tmp_path / "ledger", batch_max=100)
    count = third.step()
    third.close()

    assert (count, said) == (2, [])
    assert compare(app.store, tmp_path / "ledger").is_same
    assert replayed(tmp_path / "ledger") == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace(b'"actor":"person:ann"', b'"actor":"person:bob"', 1), "actor"),
        (lambda text: text, None),
    ],
)
def test_the_first_difference_is_named(
    app: App, tmp_path: Path, change: Callable[[bytes], bytes], words: str | None
) -> None:
    submit(app, 3)
    mirror, _, _ = a_mirror(app, tmp_path / "ledger")
    mirror.step()
    mirror.close()
    forge(tmp_path / "ledger", change)

    found = compare(app.store, tmp_path / "forged")

    assert verify(tmp_path / "forged").is_sound
    assert (found.difference is None) == (words is None)
    assert words is None or f"entry 1, {words}: " in str(found.difference)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"actor":"person:ann"', b'"actor":"person:bob"', "was changed after it was written"),
        (b'"prev_hash":"00', b'"prev_hash":"01', "does not follow the entry before it"),
        (b'"version":0', b'"version":1', "version 0 was expected here"),
        (b'"event_id":', b'"event":', "does not hold a whole transition"),
        (b"", b"", None),
    ],
)
def test_a_mirror_is_bound_by_the_seals_of_its_store_without_the_store(
    app: App, tmp_path: Path, old: bytes, new: bytes, words: str | None
) -> None:
    submit(app, 3)
    mirror, _, _ = a_mirror(app, tmp_path / "ledger")
    mirror.step()
    mirror.close()
    forge(tmp_path / "ledger", lambda text: text.replace(old, new, 1))

    found = replayed(tmp_path / "forged")

    assert verify(tmp_path / "forged").is_sound  # who forged it has sealed its lines anew
    assert bool(found) == (words is not None)
    assert words is None or words in " ".join(found)


@pytest.mark.parametrize(
    ("is_new", "old", "new", "words"),
    [
        (False, b"", b"", None),
        (False, b'"actor":"person:ann"', b'"actor":"person:bob"', "was changed after it was"),
        (True, b"", b"", None),
        (True, b'"version":0', b'"version":1', "version 0 was expected here"),
    ],
)
def test_seals_are_checked_after_lines_that_were_removed(
    app: App, tmp_path: Path, is_new: bool, old: bytes, new: bytes, words: str | None
) -> None:
    submit(app, 3)
    mirror, _, _ = a_mirror(app, tmp_path / "ledger")
    mirror.step()
    mirror.close()
    how = {"machine": None, "disk": QuickDisk(), "snapshots_kept": 1}
    with Ledger.open(tmp_path / "ledger", **how) as ledger:  # type: ignore[arg-type]
        ledger.compact()
        assert ledger.remove_archived(up_to=3, reason="old", execute=True)
        records = [each.doc_id for each in ledger.documents()]
    if is_new:
        submit(app, 1, start=3)
    for record_id in () if is_new else records:
        app.actions.act("cancel", record_id, actor="person:ann", reason="not needed")
    mirror, _, _ = a_mirror(app, tmp_path / "ledger")
    mirror.step()
    mirror.close()
    forge_last(tmp_path / "ledger", old, new)

    found = replayed(tmp_path / "ledger")

    assert verify(tmp_path / "ledger").is_sound
    assert bool(found) == (words is not None)
    assert words is None or words in " ".join(found)


def forge_last(folder: Path, old: bytes, new: bytes) -> None:
    """Other words in the last line, which is sealed as if they had always stood there."""
    with Ledger.open(folder, read_only=True, machine=None) as ledger:
        path = ledger.files()[-1][0]
    *before, last = path.read_bytes().splitlines(keepends=True)
    assert old in last
    body = last.replace(old, new, 1)[: -chain.SEAL_BYTES]
    path.write_bytes(b"".join([*before, chain.seal(body, chain.head_of(before[-1]))[0]]))


def replayed(folder: Path) -> list[str]:
    with Ledger.open(folder, read_only=True, machine=None) as ledger:
        return [each.sentence for each in ledger.replay()]


def forge(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """The same ledger with other words, sealed as if they had always stood there."""
    with Ledger.open(folder, read_only=True, machine=None) as ledger:
        lines = [
            change(text) if number == 0 else text for number, text in enumerate(ledger.lines())
        ]
    head, out = chain.GENESIS, []
    for text in lines:
        sealed, head = chain.seal(text[: -chain.SEAL_BYTES], head)
        out.append(sealed)
    with Ledger.open(folder.parent / "forged", machine=None, disk=QuickDisk()) as other:
        path = other.files()[-1][0]
    path.write_bytes(b"".join(out))


def test_how_far_a_mirror_is_can_be_seen_from_outside(app: App, tmp_path: Path) -> None:
    submit(app, 4)
    mirror, _, _ = a_mirror(app, tmp_path / "ledger")

    before = mirror_state(app.store, tmp_path / "ledger")
    mirror.step()
    after = mirror_state(app.store, tmp_path / "ledger")
    mirror.close()

    assert (before.seq, before.behind) == (0, 4)
    assert (after.seq, after.behind) == (3, 1)
    assert after.since is not None


def test_a_coordinator_mirrors_and_a_damaged_mirror_does_not_stop_it(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("data: data\nledger: {mirror: mirrored, batch_max: 2}\n")
    settings = Settings.load(config, environ={})
    with App(settings) as app:
        submit(app, 2)
        app.run_until_idle()
        well = {check.name: check for check in checks(app)}["ledger"]
        (delta,) = (tmp_path / "mirrored").glob("delta-*.jsonl")
        delta.write_bytes(delta.read_bytes().replace(b'"doc_id"', b'"dog_id"', 1))
        submit(app, 1, start=2)
        app.run_until_idle()
        ill = {check.name: check for check in checks(app)}["ledger"]
        statuses = {view.status for view in app.store.walk()}

    assert settings.ledger.mirror == str(tmp_path / "mirrored")
    assert well.is_well
    assert "0 to go" in well.sentence
    assert not ill.is_well
    assert "stateward verify" in ill.advice
    assert statuses == {"normalized"}


def test_a_coordinator_hands_signed_checkpoints_of_its_mirror_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stateward.engine.mirror_upkeep.LOOK_S", 0.01)
    private, public = generate_key("example.org/mirror")
    (tmp_path / "key").write_text(private)
    (tmp_path / "shelf").mkdir()
    with Ledger.open(tmp_path / "mirrored", machine=None, clock=Clock()):
        pass  # made long ago, so that the night is overdue
    config = tmp_path / "settings.yaml"
    with receiving() as receiver:
        config.write_text(
            "data: data\nledger:\n  mirror: mirrored\n  compact_at: '03:30'\n  signing_key: key\n"
            f"  checkpoint_destinations: [shelf, '{receiver.url}']\n"
        )
        settings = Settings.load(config, environ={})
        with App(settings) as app:
            submit(app, 2)
            app.run_until_idle()
            with app.node(is_worker=False) as node:
                wait_until(lambda: (node.turn(), receiver.posts)[1])

    post = receiver.posts[-1]
    assert parse_verifier(public).has_signed(post.body)
    shelved = {path.read_text() for path in (tmp_path / "shelf").iterdir()}
    assert shelved == set(receiver.bodies)
    assert verify(tmp_path / "mirrored", checkpoint=post.body).is_sound
    assert settings.ledger.checkpoint_destinations[0] == str(tmp_path / "shelf")


def test_a_key_that_is_not_there_is_said_before_anything_starts(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(
        "data: data\nledger: {mirror: mirrored, checkpoint_destinations: [x], signing_key: none}\n"
    )

    with App(Settings.load(config, environ={})) as app, pytest.raises(FileNotFoundError):
        app.node()

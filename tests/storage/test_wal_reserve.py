"""The write-ahead log is longer than what was written to it, and nothing is lost or read wrongly by that."""

import shutil
from pathlib import Path

from stateward.storage import wal_reserve
from stateward.storage.sqlite import SqliteDatabase

COMMITS = 3 * wal_reserve.TRANSACTIONS_MIN


def commit(database: SqliteDatabase, name: str) -> None:
    with database.transaction():
        database.run(
            "INSERT INTO pauses (machine, stage, at, actor) VALUES (:m, '', 0, 'a')", m=name
        )


def names(database: SqliteDatabase) -> list[str]:
    found = database.rows("SELECT machine FROM pauses ORDER BY machine")
    return [str(name) for (name,) in found]


def test_a_commit_does_not_make_the_log_longer(tmp_path: Path) -> None:
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    database = SqliteDatabase(path)
    for number in range(COMMITS):
        commit(database, f"{number:03}")
    commit(database, "before")
    size = wal.stat().st_size

    commit(database, "after")

    assert wal.stat().st_size == size
    database.close()


def test_what_was_committed_is_read_from_a_log_with_a_reserve_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database, other = SqliteDatabase(path), SqliteDatabase(path)
    for number in range(COMMITS):
        commit(database if number % 2 else other, f"{number:03}")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for file in (path, Path(f"{path}-wal")):  # without the shared memory, as after a loss of power
        shutil.copy(file, crashed / file.name)

    again = SqliteDatabase(crashed / "a.db")

    assert names(again) == [f"{number:03}" for number in range(COMMITS)]
    assert again.damage() == []
    for each in (again, other, database):
        each.close()


def test_connections_to_one_log_do_not_lengthen_each_others_reserve(tmp_path: Path) -> None:
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    both = SqliteDatabase(path), SqliteDatabase(path)
    for number in range(COMMITS):
        for each in both:
            commit(each, f"{number:03} {id(each)}")

    assert wal.stat().st_size < 2 * wal_reserve.STEP_BYTES
    for each in both:
        each.close()


def test_a_log_that_was_cut_off_gets_a_reserve_again(tmp_path: Path) -> None:
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    database = SqliteDatabase(path)
    for number in range(COMMITS):
        commit(database, f"{number:03}")

    database.compact()
    sizes = [wal.stat().st_size]
    for number in range(3):
        commit(database, f"more {number}")
        sizes.append(wal.stat().st_size)

    assert sizes[0] == 0  # nothing of what was erased is left in it
    assert sizes[2] > sizes[1]
    assert sizes[3] == sizes[2]
    assert len(names(database)) == COMMITS + 3
    database.close()


def test_a_command_that_writes_little_reserves_nothing(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db")
    commit(database, "one")
    size = (tmp_path / "a.db-wal").stat().st_size

    commit(database, "two")

    assert 0 < (tmp_path / "a.db-wal").stat().st_size - size < wal_reserve.FIRST_BYTES / 2
    database.close()


def test_a_reserve_has_an_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(bytes(wal_reserve.HEADER_BYTES))
    reserve = wal_reserve.WalReserve(str(log), pages_max=20)
    sizes = set[int]()
    for frames in range(30):
        with log.open("r+b") as file:
            file.seek(wal_reserve.HEADER_BYTES + frames * wal_reserve.FRAME_BYTES)
            file.write(bytes(wal_reserve.FRAME_BYTES))
        reserve.keep()
        sizes.add(log.stat().st_size)

    whole = wal_reserve.HEADER_BYTES + 30 * wal_reserve.FRAME_BYTES
    assert 20 * wal_reserve.FRAME_BYTES in sizes
    assert max(sizes) == whole
    reserve.close()

"""Two uploads of the same bytes at the same moment are one record; a record's facts reach every caller."""

import threading
from pathlib import Path

from stateward.app import App
from stateward.engine.coordinator import Submitted

STATEMENT = (
    b"Date,Description,Amount,Balance\n2026-01-05,Shop,-1.50,8.50\n2026-01-06,Pay,2.00,10.50\n"
)
TAMPERED = STATEMENT.replace(b"10.50", b"99.00")


def test_simultaneous_uploads_of_the_same_bytes_make_one_record(tmp_path: Path) -> None:
    many = 6
    ready, answers = threading.Barrier(many), list[Submitted]()
    App.embedded(tmp_path).close()

    def upload() -> None:
        with App.embedded(tmp_path) as app:
            ready.wait()
            answers.append(app.submit(STATEMENT, name="january.csv"))

    threads = [threading.Thread(target=upload) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({each.record.id for each in answers}) == 1
    assert sorted(each.is_duplicate for each in answers) == [False] + [True] * (many - 1)
    kept = [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]
    assert len(kept) == 1


def test_a_name_of_the_user_is_never_one_on_the_disk(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(STATEMENT, name="../../../etc/passwd").record

    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert record.artifact in names
    assert not any("passwd" in name for name in names)


def test_the_counts_are_rows_and_the_whole_is_known_beside_them(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(STATEMENT).record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))

        assert (view.exposed["observations_count"], view.exposed["canonicals_count"]) == (2, 2)
        assert view.notes is None
        assert app.records.about(record.id, "parse")["format"] == "csv"
        assert app.records.about(record.id, "normalize")["checks"][0]["status"] == "reconciled"  # type: ignore[index, call-overload]
        assert len(list(app.items(record.id))) == 2


def test_what_does_not_add_up_is_seen_in_the_record_its_history_and_its_log(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(TAMPERED).record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))
        story = [
            app.records.transition_view(each).sentence for each in app.records.history(record.id)
        ]
        log = app.records.attempts(record.id)[-1].log

    notes = view.notes
    assert isinstance(notes, list)
    assert str(notes[0]).startswith("NOT_RECONCILED: section 1: the chain of balances fails")
    assert "notes: NOT_RECONCILED" in story[-1]
    assert "-88.50" in log

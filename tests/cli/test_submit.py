"""`stateward submit`: what is new, what is known, what is refused."""

import json
import os
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from stateward.cli.exit_codes import Exit
from stateward.cli.submit import _summary_line
from tests.archives import zipped
from tests.cli.shell import Shell

NO_ONE_WORKS = (
    "no worker that can run upload.parse is alive; start one: stateward up, or stateward worker"
)


def a_file(folder: Path, name: str, text: str | None = None) -> str:
    path = folder / name
    path.write_text(text or f"line,{name}\n")
    return str(path)


def test_a_new_document_and_a_known_one_both_succeed(shell: Shell, tmp_path: Path) -> None:
    file = a_file(tmp_path, "a.csv")

    first, second = shell("submit", file), shell("submit", file)

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.stdout.split()[0] == "new"
    assert second.stdout.split()[0] == "duplicate"
    assert first.stdout.split()[1] == second.stdout.split()[1]
    assert second.stderr == f"1 file: 1 duplicate\n{NO_ONE_WORKS}, or submit with --wait\n"


def test_nothing_is_said_of_workers_where_the_documents_have_ended(
    shell: Shell, tmp_path: Path
) -> None:
    file = a_file(tmp_path, "a.csv")
    shell("submit", file, "--wait")

    assert NO_ONE_WORKS not in shell("submit", file).stderr


def test_labels_name_source_priority_and_reason_are_kept(shell: Shell, tmp_path: Path) -> None:
    file = a_file(tmp_path, "a.csv")

    (row,) = shell.json(
        "submit", file, "--name", "January", "--source-type", "bank_csv",
        "--label", "client=42", "--label", "note=a=b", "--priority", "7", "--reason", "asked for",
    )  # fmt: skip

    view = shell.json("status", row["id"])
    (opened,) = shell.json("history", row["id"])
    assert view["labels"] == {
        "filename": "January", "size": 11, "client": "42", "note": "a=b", "source_type": "bank_csv",
    }  # fmt: skip
    assert view["priority"] == 7
    assert opened["metadata"]["reason"] == "asked for"
    assert opened["actor"].startswith("person:")


def test_a_priority_has_the_names_of_the_profile(shell: Shell, tmp_path: Path) -> None:
    file = a_file(tmp_path, "a.csv")

    (row,) = shell.json("--profile", "enterprise", "submit", file, "--priority", "vip_customer")

    assert shell.json("status", row["id"])["priority"] == 10


def test_standard_input_is_a_document(shell: Shell) -> None:
    done = shell("submit", "-", "--name", "piped.csv", stdin=b"a,b\n")

    assert done.exit_code == 0
    assert shell.json("list")[0]["labels"]["filename"] == "piped.csv"


def test_one_refused_file_does_not_stop_the_others(shell: Shell, tmp_path: Path) -> None:
    files = [a_file(tmp_path, "a.csv"), str(tmp_path / "missing.csv"), a_file(tmp_path, "c.csv")]

    done = shell("submit", *files, str(tmp_path), "--json")

    rows = json.loads(done.stdout)
    assert done.exit_code == Exit.REFUSED
    assert [row["outcome"] for row in rows] == ["new", "refused", "new", "refused"]
    assert rows[1]["error"]["message"] == "there is no such file"
    assert "--recursive" in rows[3]["error"]["message"]
    assert len(shell.ids()) == 2


def test_a_folder_is_taken_whole_when_asked(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/a.csv", "in/deep/b.csv", "in/.hidden"):
        a_file(tmp_path, name)

    done = shell("submit", "--recursive", str(tmp_path / "in"))

    assert done.exit_code == 0
    assert [Path(line.split()[2]).name for line in done.stdout.splitlines()] == ["a.csv", "b.csv"]


def test_an_empty_folder_is_said(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    done = shell("submit", "--recursive", str(tmp_path / "empty"))

    assert (done.exit_code, done.stderr) == (0, "there was no file\n")


def test_a_document_that_is_too_large_is_refused(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "own.yaml"
    config.write_text("limits: {upload_bytes_max: 10}\n")
    file = a_file(tmp_path, "large.csv", "x" * 100)

    done = shell("--config", str(config), "submit", file)

    assert done.exit_code == Exit.REFUSED
    assert "more than 10 bytes" in done.stderr


def test_a_name_that_is_no_text_is_shown_as_one(shell: Shell, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/x\xe9\x1b[31m.csv"
    with open(name, "wb") as file:  # noqa: PTH123 - a Path cannot hold it
        file.write(b"a,b\n")

    done = shell("submit", os.fsdecode(name))

    assert done.exit_code == 0
    assert "x\\udce9\\x1b[31m.csv" in done.stdout
    assert "\x1b" not in done.output


def test_waiting_ends_when_time_is_up_and_says_why(shell: Shell, tmp_path: Path) -> None:
    done = shell("submit", a_file(tmp_path, "a.csv"), "--wait", "--timeout", "0")

    assert done.exit_code == Exit.TIMED_OUT
    assert "no worker that can run upload.parse is alive" in done.stderr


def test_without_a_worker_the_command_that_waits_does_the_work(
    shell: Shell, tmp_path: Path
) -> None:
    file = a_file(tmp_path, "a.csv", "Date,Description,Amount\n2026-01-05,Shop,-1.50\n")

    done = shell("submit", file, "--wait", "--json")

    assert done.exit_code == Exit.OK
    (row,) = json.loads(done.stdout)
    assert (row["status"], row["canonicals_count"]) == ("normalized", 1)
    assert row["notes"][0].startswith("NOT_CHECKED: ")


def test_waiting_ends_with_a_table_of_what_came_of_each_file(shell: Shell, tmp_path: Path) -> None:
    good = a_file(tmp_path, "a.csv", "Date,Description,Amount\n2026-01-05,Shop,-1.50\n")
    bad = a_file(tmp_path, "b.csv", "no table at all")

    done = shell("submit", good, bad, "--wait")

    assert done.exit_code == Exit.FOUND_PROBLEMS
    lines = [line.split() for line in done.stdout.splitlines()[-2:]]
    assert [line[1:] for line in lines] == [
        ["normalized", "1", "canonical", "NOT_CHECKED"],
        ["error", "UNKNOWN_FORMAT"],
    ]


def test_the_same_bytes_that_failed_are_told_to_be_retried(demo: Shell, tmp_path: Path) -> None:
    file = tmp_path / "again.csv"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    (known,) = demo.ids("status:error")

    done = demo("submit", str(file), "--label", "source_type=sample")

    assert (
        f"the same bytes failed before; to try them again: stateward retry {known}" in done.stderr
    )


def test_a_line_of_the_summary_says_what_was_found() -> None:
    row = {"file": "a", "status": "completed", "outcome": "new", "error": None}
    facts = {"provider": "Kellerfunk", "final_confidence": 97}

    told = _summary_line({**row, "facts": facts, "notes": ["MISSING: a", "MISSING: b"]})

    assert told == ("a", "completed", "Kellerfunk, 97", "MISSING (2)")


def test_waiting_tells_how_it_ended(demo: Shell) -> None:
    samples = Path(__file__).parents[2] / "src/stateward/pipelines/statements/samples"
    good, bad = samples / "checking-2026-01.csv", samples / "renamed-spreadsheet.csv"

    well, failed = demo("submit", str(good), "--wait"), demo("submit", str(bad), "--wait")

    assert (well.exit_code, failed.exit_code) == (Exit.OK, Exit.FOUND_PROBLEMS)
    assert "finished: normalized" in well.stderr
    assert "failed: SHEET_CORRUPT" in failed.stderr


def test_what_was_taken_is_told_even_if_the_store_fails_then(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateward.app import App
    from stateward.core.errors import StoreFull

    whole = App.submit

    def failing(self: App, source: Path, **how: object) -> object:
        if source.name == "b.csv":
            raise StoreFull("the disk is full")
        return whole(self, source, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(App, "submit", failing)

    done = shell(
        "submit", *(a_file(tmp_path, name) for name in ("a.csv", "b.csv", "c.csv")), "--json"
    )

    assert done.exit_code == Exit.DISK_FULL
    assert [row["outcome"] for row in json.loads(done.stdout)] == ["new"]
    assert json.loads(done.stderr)["error"]["code"] == "store_full"


def test_each_file_of_an_archive_is_a_document(tmp_path: Path) -> None:
    csv = b"date;amount;text\n2026-01-02;-12,50;%d\n2026-01-03;-3,00;Bread\n"
    files = {"2026/a.csv": csv % 1, "../b.csv": csv % 2, "__MACOSX/a.csv": b"x", ".DS_Store": b"x"}
    (tmp_path / "year.zip").write_bytes(zipped(files))
    shell = Shell(tmp_path / "data")

    done = shell("submit", str(tmp_path / "year.zip"), "--json")
    again = shell("submit", str(tmp_path / "year.zip"))

    assert done.exit_code == 0, done.stderr
    assert len(shell.ids("meta.archive:year.zip")) == 2
    names = {view["labels"]["filename"] for view in shell.json("list")}
    assert names == {"a.csv", "b.csv"}
    assert "2 duplicate" in again.stderr
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped({"a.csv": bytes(20 << 20)}), "bomb"),
        (zipped({f"{n}.csv": b"x" for n in range(1001)}), "1001 files"),
        (zipped({"a.csv": b"x"}, password=True), "encrypted"),
        (zipped({"a/": b""}), "no document"),
    ],
    ids=["a bomb", "too many", "locked", "empty"],
)
def test_a_hostile_archive_is_refused_and_nothing_of_it_is_taken(
    tmp_path: Path, data: bytes, said: str
) -> None:
    (tmp_path / "bad.zip").write_bytes(data)
    shell = Shell(tmp_path / "data")

    done = shell("submit", str(tmp_path / "bad.zip"), "--wait")

    assert done.exit_code == 4
    assert said in done.stderr
    assert shell.ids() == []


def test_an_archive_that_holds_a_pdf_uncompressed_is_no_pdf(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "two.zip", "w", ZIP_STORED) as archive:
        archive.writestr("a.csv", "Date,Amount\n2026-01-02,-1.00\n")
        archive.writestr("b.pdf", b"%PDF-1.4\n%%EOF\n")
    shell = Shell(tmp_path / "data")

    shell("submit", str(tmp_path / "two.zip"))

    assert {view["labels"]["filename"] for view in shell.json("list")} == {"a.csv", "b.pdf"}


def test_a_table_of_a_bank_under_the_name_of_a_spreadsheet_is_no_web_page(tmp_path: Path) -> None:
    page = "<html><body><table><tr><th>Date</th><th>Amount</th></tr><tr><td>2026-01-05</td><td>-1.50</td></tr>"
    (tmp_path / "export.xls").write_text(f"{page}</table></body></html>")
    shell = Shell(tmp_path / "data")

    done = shell("submit", str(tmp_path / "export.xls"))

    assert "web_page" not in done.stderr
    assert "source_type" not in shell.json("list")[0]["labels"]


def test_a_document_that_is_a_zip_inside_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "budget.numbers").write_bytes(zipped({"Index/Document.iwa": b"x"}))
    shell = Shell(tmp_path / "data")

    done = shell("submit", str(tmp_path / "budget.numbers"), "--wait")

    assert done.exit_code == 1
    assert "Export To" in done.stderr

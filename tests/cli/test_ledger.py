"""`stateward ledger`: what it answers, what it refuses, and that damage never goes by unsaid."""

import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.cli.exit_codes import Exit
from stateward.ledger import Ledger, LedgerState, record
from tests.cli.shell import Shell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with a snapshot after three lines and two lines after it."""
    path = tmp_path / "ledger"
    with Ledger.open(path) as ledger:
        for number in (1, 2, 3):
            ledger.record(f"doc:{number}", LedgerState.PENDING, adapter="pubmed")
        ledger.compact(compress=False)
        ledger.record("doc:1", LedgerState.FETCHING, adapter="pubmed")
        ledger.record(
            "doc:1", LedgerState.FAILED, error_type="Timeout", error_message="\x1b[31mred"
        )
    return path


def test_a_ledger_is_made_written_and_asked(shell: Shell, tmp_path: Path) -> None:
    path = str(tmp_path / "new")

    made = shell.json("ledger", "init", path)
    again = shell.json("ledger", "init", path)
    appended = shell.json("ledger", "append", path, "doc:1", "pending", "--metadata", '{"a": 1}')

    assert (made["records"], again["records"], appended) == (0, 0, {"appended": 1, "last_seq": 1})
    assert shell.json("ledger", "state", path, "doc:1") == {"doc:1": "pending"}
    assert shell.json("ledger", "history", path, "doc:1")[0]["metadata"] == {"a": 1}


def test_a_ledger_that_is_written_to_by_another_process_is_a_conflict(
    shell: Shell, folder: Path
) -> None:
    with Ledger.open(folder):
        done = [
            shell("ledger", *each) for each in (["compact", str(folder)], ["repair", str(folder)])
        ]

        assert [each.exit_code for each in done] == [Exit.CONFLICT, Exit.CONFLICT]
        assert "is being written by process" in done[0].stderr
        assert shell("ledger", "stats", str(folder)).exit_code == Exit.OK


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(28, "No space left on device"), Exit.DISK_FULL, "free space"),
        (OSError(5, "Input/output error"), Exit.DISK_FULL, "Input/output error"),
        (KeyboardInterrupt(), Exit.INTERRUPTED, "interrupted"),
        (ZeroDivisionError(), Exit.INTERNAL, "this is a bug"),
    ],
)
def test_a_ledger_ends_as_every_command_does(
    shell: Shell,
    folder: Path,
    error: BaseException,
    code: Exit,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A bug leaves a file that says where it happened.
    monkeypatch.setattr("tempfile.tempdir", str(folder.parent))
    with patch("stateward.ledger.disk.os.fdatasync", side_effect=error):
        done = shell("ledger", "append", str(folder), "doc:9", "pending")

    assert (done.exit_code, words in done.stderr) == (code, True)
    assert shell("verify", str(folder)).exit_code == Exit.OK


def test_a_field_that_a_record_does_not_have_is_not_dropped(shell: Shell, folder: Path) -> None:
    line = b'{"doc_id": "doc:9", "state": "pending", "adaptor": "pubmed"}'

    done = shell("ledger", "append", str(folder), "--from", "-", stdin=line)

    assert done.exit_code == Exit.REFUSED
    assert "line 1: there is no field 'adaptor'; there are: doc_id, state" in done.stderr


def test_moves_come_from_a_file_up_to_the_first_wrong_line(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    moves = tmp_path / "moves.jsonl"
    rows = [("doc:7", "pending"), ("doc:7", "fetching"), ("doc:7", "indexed"), ("doc:8", "pending")]
    moves.write_text("\n".join(json.dumps({"doc_id": doc, "state": state}) for doc, state in rows))

    done = shell("ledger", "append", str(folder), "--from", str(moves))

    assert done.exit_code == Exit.REFUSED
    assert "line 3: doc:7: indexed is not possible" in done.stderr
    assert "appended before it: 2 records" in done.stderr
    assert shell.json("ledger", "state", str(folder), "doc:7") == {"doc:7": "fetching"}


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["append", "{}", "doc:2", "completed"], Exit.REFUSED, "not possible from 'pending'"),
        (["append", "{}", "doc:2", "finished"], Exit.REFUSED, "there is no state 'finished'"),
        (["append", "{}", "doc:1", "retrying"], Exit.REFUSED, "only a person"),
        (["append", "{}", "doc:2"], Exit.USAGE, "name a document and its state"),
        (["append", "{}", "doc:2", "skipped", "--metadata", "{"], Exit.USAGE, "--metadata is not JSON"),
        (["append", "{}/nowhere", "doc:2", "pending"], Exit.REFUSED, "stateward ledger init"),
        (["state", "{}", "doc:99"], Exit.UNKNOWN, "there is no document 'doc:99'"),
        (["state", "{}/nowhere"], Exit.REFUSED, "is not a ledger"),
        (["history", "{}", "doc:99"], Exit.UNKNOWN, "there is no document"),
        (["state", "{}", "--long", "--state", "lost"], Exit.UNKNOWN, "there is no state 'lost'"),
        (["stuck", "{}", "--older-than", "soon"], Exit.USAGE, "is no time"),
        (["stuck", "{}", "--older-than", "9" * 400 + "d"], Exit.USAGE, "longer than time itself"),
        (["rollback", "{}", "1999"], Exit.UNKNOWN, "there is no snapshot"),
        (["prove", "{}", "99"], Exit.REFUSED, "there is no line 99"),
        (["archive", "{}", "--remove-up-to", "3"], Exit.USAGE, "--reason"),
        (["migrate", "{}/MANIFEST.json", "--yes"], Exit.USAGE, "--output DIR or --in-place"),
        (["migrate", "{}/MANIFEST.json", "--rollback"], Exit.USAGE, "--output DIR or --in-place"),
        (["export", "{}", "--out", "{}/HEAD"], Exit.REFUSED, "exists already"),
        (["query", "{}"], Exit.USAGE, "Missing argument 'SQL'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(
    shell: Shell, folder: Path, args: list[str], code: Exit, words: str
) -> None:
    done = shell("ledger", *(arg.replace("{}", str(folder)) for arg in args))

    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr
    assert shell("verify", str(folder)).exit_code == 0


def test_stats_are_counts_and_percentiles(shell: Shell, folder: Path) -> None:
    stats = shell.json("ledger", "stats", str(folder))

    assert stats["document_count"] == 3
    assert stats["distribution"] == {"failed": 1, "pending": 2}
    assert stats["error_types"] == {"Timeout": 1}
    assert stats["adapters"] == {"": 1, "pubmed": 4}
    assert stats["durations"]["pending"].keys() == {"count", "mean_s", "max_s", "p50_s", "p95_s"}


def test_what_strangers_wrote_does_nothing_to_a_terminal(shell: Shell, folder: Path) -> None:
    assert "\x1b" not in shell("ledger", "history", str(folder), "doc:1").stdout
    assert (
        "\x1b" not in shell("ledger", "watch", str(folder), "--after", "0", "--until-idle").stdout
    )


def test_stuck_documents_are_listed_and_end_with_one(shell: Shell, folder: Path) -> None:
    stuck = shell("ledger", "stuck", str(folder), "--older-than", "0s", "--json")

    assert stuck.exit_code == Exit.FOUND_PROBLEMS
    assert [each["doc_id"] for each in json.loads(stuck.stdout)] == ["doc:2", "doc:3"]
    assert shell("ledger", "stuck", str(folder), "--older-than", "1d").exit_code == 0


def test_sql_sees_every_line_and_says_what_it_left_out(shell: Shell, folder: Path) -> None:
    pytest.importorskip("duckdb")
    shell("ledger", "compact", str(folder))
    shell("ledger", "append", str(folder), "doc:5", "pending")
    with Ledger.open(folder, read_only=True) as ledger:
        active = ledger.files()[-1][0]
    active.write_bytes(active.read_bytes() + b'{"doc_id":"doc:6","old')

    done = shell(
        "ledger", "query", str(folder), "SELECT count(*) AS lines, max(seq) AS last FROM ledger"
    )
    rows = shell.json(
        "ledger", "query", str(folder), "SELECT new_state FROM ledger WHERE error_type IS NOT NULL"
    )
    wrong = shell("ledger", "query", str(folder), "SELEKT")

    assert done.stdout.split() == ["lines", "last", "6", "8"]
    assert "bytes after the last whole line were left out" in done.stderr
    assert rows == [{"new_state": "failed"}]
    assert (wrong.exit_code, "DuckDB" in wrong.stderr) == (Exit.REFUSED, True)


def test_without_duckdb_one_is_told_how_to_get_it(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)

    done = shell("ledger", "query", str(folder), "SELECT 1")

    assert done.exit_code == Exit.REFUSED
    assert "pip install 'stateward[query]'" in done.stderr


def test_an_export_proves_itself_against_every_cut_and_every_changed_byte(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "export.jsonl"
    anchor = shell.json("ledger", "export", str(folder), "--out", str(out))
    whole = out.read_bytes()
    states = shell.json("ledger", "state", str(out))
    broken = tmp_path / "broken.jsonl"
    damaged = [whole[:at] for at in range(0, len(whole), 7)]
    damaged += [
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 11)
    ]
    damaged += [b"".join(whole.splitlines(True)[:count]) for count in range(6)]
    damaged += [whole + b"x", whole + whole, whole.replace(b"\n", b"\n\n", 1)]

    from stateward.ledger.export_file import verify_file

    assert anchor["count"] == 6
    assert states == {"doc:1": "failed", "doc:2": "pending", "doc:3": "pending"}
    for text in damaged:
        broken.write_bytes(text)
        assert verify_file(broken).findings, text
    assert shell("verify", str(broken)).exit_code == Exit.FOUND_PROBLEMS
    assert shell("ledger", "state", str(broken)).exit_code != 0


def test_a_single_delta_is_checked_against_the_manifest_beside_it(
    shell: Shell, folder: Path
) -> None:
    deltas = sorted(folder.glob("delta-*.jsonl"))

    sound = [shell("verify", str(delta)).exit_code for delta in deltas]
    for delta in deltas:
        delta.write_bytes(b"".join(delta.read_bytes().splitlines(True)[:-1]))
    cut = [shell("verify", str(delta)).exit_code for delta in deltas]

    assert (sound, cut) == ([0, 0], [1, 1])


def test_damage_is_named_shown_and_mended_only_when_told(shell: Shell, folder: Path) -> None:
    with Ledger.open(folder, read_only=True) as ledger:
        active = ledger.files()[-1][0]
    active.write_bytes(active.read_bytes().replace(b"Timeout", b"Timeeut", 1))
    before = active.read_bytes()

    verdict = shell("verify", str(folder), "--json")
    looked = shell("ledger", "repair", str(folder))
    refused = shell("ledger", "repair", str(folder), "--yes")
    untouched = active.read_bytes()
    done = shell("ledger", "repair", str(folder), "--yes", "--accept-loss")

    finding = json.loads(verdict.stdout)["findings"][0]
    assert (verdict.exit_code, finding["file"], finding["seq"]) == (1, active.name, 6)
    assert (looked.exit_code, refused.exit_code, done.exit_code) == (1, 1, 0)
    assert "only with --accept-loss" in looked.stdout
    assert untouched == before
    assert active.with_name(active.name + ".damaged").read_bytes() == before
    assert shell.json("ledger", "state", str(folder), "doc:1") == {"doc:1": "fetching"}


def test_every_move_is_called_valid_only_where_all_lines_are_there(
    shell: Shell, tmp_path: Path
) -> None:
    folder = tmp_path / "short"
    with Ledger.open(folder, snapshots_kept=1) as ledger:
        ledger.record_many([("doc:1", LedgerState.PENDING)])
        ledger.compact()
        whole = shell("verify", str(folder))
        assert ledger.remove_archived(up_to=1, reason="old", execute=True)

    rest = shell("verify", str(folder))

    assert (whole.exit_code, rest.exit_code) == (Exit.OK, Exit.OK)
    assert "every move is valid" in whole.stdout + whole.stderr
    assert "every move is valid" not in rest.stdout + rest.stderr
    assert "so that only moves after seq 1 are checked" in rest.stdout + rest.stderr


def test_a_replay_finds_a_move_that_the_state_machine_does_not_have(
    shell: Shell, folder: Path
) -> None:
    sound = shell.json("verify", str(folder))
    with Ledger.open(folder) as ledger:
        writer = ledger._require_writer()
        writer.builder._table = None  # as a writer with another state machine would
        writer.append([("doc:2", "completed")])

    of_a_file = shell("verify", str(max(folder.glob("delta-*.jsonl"))))
    replayed = shell("verify", str(folder))

    assert (sound["is_sound"], sound["is_valid"]) == (True, True)
    assert (of_a_file.exit_code, replayed.exit_code) == (Exit.OK, Exit.FOUND_PROBLEMS)
    assert "pending → completed is no move of literature" in replayed.stdout


def test_commands_that_were_moved_work_for_one_version_and_name_the_new_ones(
    shell: Shell, folder: Path
) -> None:
    verified = shell("ledger", "verify", str(folder))
    as_json = shell("ledger", "verify", str(folder), "--json")
    made = shell("ledger", "snapshot", str(folder))
    listed = shell("ledger", "documents", str(folder), "--state", "pending", "--json")
    pruned = shell("ledger", "prune-backups", str(folder))
    maintained = shell("ledger", "maintain", str(folder))
    help_text = shell("ledger", "--help").stdout

    assert (verified.exit_code, as_json.exit_code) == (0, 0)
    assert "`stateward ledger verify` is deprecated, write `stateward verify`" in verified.stderr
    assert verified.stderr.count("deprecated") == 1
    assert json.loads(as_json.stdout)["is_valid"] is True
    assert json.loads(as_json.stderr)["warning"]["code"] == "deprecated"
    assert "write `stateward ledger compact --no-pack`" in made.stderr
    assert [each["doc_id"] for each in json.loads(listed.stdout)] == ["doc:2", "doc:3"]
    assert "write `stateward ledger state --long`" in listed.stderr
    assert "write `stateward ledger migrate --prune-backups`" in pruned.stderr
    assert "0 backups older than 30 days" in pruned.stderr
    assert "write `stateward ledger compact`" in maintained.stderr
    assert "snapshot " not in help_text.replace("snapshots", "")


def test_one_command_verifies_a_store_or_a_ledger(
    demo: Shell, shell: Shell, folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "checkpoint.txt"
    shell("ledger", "checkpoint", str(folder), "--out", str(kept))

    whole = demo.json("verify", str(folder), "--checkpoint", str(kept))
    old = shell("ledger", "verify", str(folder))
    nothing = shell("verify", str(tmp_path))

    assert (whole["is_sound"], whole["is_valid"], whole["lines"]) == (True, True, 6)
    assert (old.exit_code, "write `stateward verify" in old.stderr) == (Exit.OK, True)
    assert (nothing.exit_code, "neither a ledger" in nothing.stderr) == (Exit.REFUSED, True)
    assert shell("verify", str(folder), "--out", str(kept)).exit_code == Exit.USAGE


def test_where_a_document_may_go_next_is_said(shell: Shell, folder: Path) -> None:
    assert shell.json("ledger", "next", str(folder), "doc:2") == {
        "doc_id": "doc:2", "state": "pending", "next": ["fetching", "skipped"],
    }  # fmt: skip
    assert shell("ledger", "next", str(folder), "new").stdout.split() == ["pending"]


def test_states_can_be_chosen_and_cut(shell: Shell, folder: Path) -> None:
    rows = shell("ledger", "state", str(folder), "--state", "pending", "--limit", "1", "--jsonl")

    assert json.loads(rows.stdout) == {"doc_id": "doc:2", "state": "pending"}
    assert shell("ledger", "state", str(folder), "doc:1", "--long").exit_code == Exit.USAGE
    assert shell("ledger", "state", str(folder), "--state", "elsewhere").exit_code == Exit.UNKNOWN


def test_no_message_for_people_names_a_method() -> None:
    """They are printed by commands, where there is nothing to call."""
    messages = [
        found
        for path in Path(record.__file__).parent.glob("*.py")
        for found in re.findall(
            r"(?:Error|Request|Damaged\.at|Mismatch|Poisoned)\(\s*f?\"([^\"]+)", path.read_text()
        )
    ]

    assert len(messages) > 40
    said = [re.sub(r"\{[^}]*\}", "…", each) for each in messages]
    assert [each for each in said if re.search(r"\w\(\)|\w=['\"]|_max\b", each)] == []


def test_a_line_is_proved_against_a_checkpoint_kept_elsewhere(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "checkpoint.txt"
    shell("ledger", "checkpoint", str(folder), "--out", str(kept))
    shell("ledger", "append", str(folder), "doc:4", "pending")
    proved = shell.json("ledger", "prove", str(folder), "2", "--checkpoint", str(kept))
    text = kept.read_text()
    kept.write_text(text.replace(text.splitlines()[2], "A" * 43 + "="))

    forged = shell("ledger", "prove", str(folder), "2", "--checkpoint", str(kept))
    verified = shell("ledger", "verify", str(folder), "--checkpoint", str(kept))

    assert (proved["is_proved"], proved["proof"]["size"]) == (True, 6)
    assert (forged.exit_code, verified.exit_code) == (1, 1)


def test_a_rollback_is_shown_before_it_is_done(shell: Shell, folder: Path) -> None:
    looked = shell.json("ledger", "rollback", str(folder), "3")
    before = shell.json("ledger", "state", str(folder), "doc:1")
    done = shell.json("ledger", "rollback", str(folder), "3", "--yes", "--reason", "a bad run")
    after = shell.json("ledger", "state", str(folder), "doc:1")

    assert (looked["is_executed"], looked["undone"], done["is_executed"]) == (False, 3, True)
    assert (before, after) == ({"doc:1": "failed"}, {"doc:1": "pending"})


def test_an_old_ledger_is_migrated_and_brought_back(shell: Shell, tmp_path: Path) -> None:
    old = tmp_path / "ledger.jsonl"
    old.write_text('{"doc_id":"a","state":"auto_done"}\n{"doc_id":"b","state":"on hold"}\nbroken\n')
    words = tmp_path / "words.yaml"
    words.write_text("states: {on hold: skipped}\n")
    new = str(tmp_path / "new")

    looked = shell.json("ledger", "migrate", str(old), "--report", str(tmp_path / "report.txt"))
    where = ("ledger", "migrate", str(old), "--output", new)
    done = shell.json(*where, "--mapping", str(words), "--yes")
    again = shell.json(*where, "--mapping", str(words), "--yes")
    not_yet = shell.json(*where, "--rollback")
    assert Path(new).exists()
    back = shell.json(*where, "--rollback", "--yes")

    assert (looked["is_dry_run"], looked["unmapped"], looked["broken"]) == (True, {"on hold": 1}, 1)
    assert json.loads((tmp_path / "report.txt.json").read_text()) == looked
    assert (done["after"], done["is_done_already"]) == ({"completed": 1, "skipped": 1}, False)
    assert again["is_done_already"]
    assert not not_yet["is_executed"]
    assert not Path(new).exists()
    assert Path(back["aside"]).is_dir()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("not a ledger\n", "not one of its lines can be read"), ("", "it is empty")],
    ids=["notes", "empty"],
)
def test_a_dry_run_of_a_file_that_is_no_ledger_ends_with_problems(
    shell: Shell, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "notes.txt").write_text(text)

    done = shell("ledger", "migrate", str(tmp_path / "notes.txt"))

    assert done.exit_code == Exit.FOUND_PROBLEMS
    assert sentence in done.stderr
    assert "add --yes" not in done.stderr


def test_what_would_be_removed_is_not_said_to_be_removed(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "archived"
    with Ledger.open(folder, snapshots_kept=1) as ledger:
        for state in (LedgerState.PENDING, LedgerState.FETCHING):
            ledger.record("doc:1", state)
            ledger.compact()
    remove = ("ledger", "archive", str(folder), "--remove-up-to", "1", "--reason", "too old")

    asked, done = shell(*remove).stdout, shell(*remove, "--yes").stdout

    assert ("too old" in asked, "too old" in done) == (True, True)
    assert ("Z  too old" in asked, "Z  too old" in done) == (False, True)


def test_a_document_whose_lines_were_removed_is_not_said_to_be_unknown(
    shell: Shell, tmp_path: Path
) -> None:
    folder = tmp_path / "short"
    with Ledger.open(folder, snapshots_kept=1) as ledger:
        ledger.record("doc:1", LedgerState.PENDING)
        ledger.compact()
        assert ledger.remove_archived(up_to=1, reason="old", execute=True)

    done = shell("ledger", "history", str(folder), "doc:1")

    assert (done.exit_code, done.stdout) == (Exit.OK, "")
    assert "doc:1 is in pending; its lines were removed on purpose" in done.stderr
    assert shell.json("ledger", "history", str(folder), "doc:1") == []


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_done(
    shell: Shell, tmp_path: Path
) -> None:
    old, report = tmp_path / "ledger.jsonl", tmp_path / "gone" / "report"
    old.write_text('{"doc_id":"d","state":"pending","timestamp":1728043200.0}\n')

    migrate = ("ledger", "migrate", str(old), "--output", str(tmp_path / "new"), "--yes")
    done = shell(*migrate, "--report", str(report))

    assert (done.exit_code, "for the report" in done.stderr) == (Exit.USAGE, True)
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.jsonl"]

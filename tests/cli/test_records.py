"""Questions about records: answers for people, the same answers for programs."""

import json
import re
import sys
from pathlib import Path

import pytest

from stateward.app import App
from stateward.cli.context import CliContext
from stateward.cli.exit_codes import Exit
from stateward.cli.output import cut, moment, safe, span
from tests.cli.shell import Shell


def test_the_status_of_one_is_an_object_and_of_several_a_list(demo: Shell) -> None:
    ids = demo.ids()

    assert demo.json("status", ids[0])["id"] == ids[0]
    assert [view["id"] for view in demo.json("status", *ids)] == ids


def test_a_status_for_people_leaves_out_what_is_not_known(demo: Shell) -> None:
    record_id = demo.ids("status:normalized")[0]

    text = demo("status", record_id).stdout

    assert re.search(r"^status +normalized$", text, re.MULTILINE)
    assert re.search(r"^canonicals_count +\d$", text, re.MULTILINE)
    assert "error_code" not in text
    assert "None" not in text


def test_an_unknown_id_among_others_is_told_and_the_others_are_shown(demo: Shell) -> None:
    record_id = demo.ids()[0]

    done = demo("status", "nobody", record_id, "--json")
    for_people = demo("status", record_id, record_id)

    assert done.exit_code == Exit.UNKNOWN
    assert [view["id"] for view in json.loads(done.stdout)] == [record_id]
    assert for_people.stdout.count("machine") == 2


def test_a_list_is_found_by_words_and_by_options(demo: Shell) -> None:
    (bad,) = demo.ids("status:error")

    assert [
        view["id"] for view in demo.json("list", "--status", "error", "--machine", "upload")
    ] == [bad]
    assert bad not in demo.ids("-status:error")
    assert demo.json("list", "age>1h") == []
    assert [view["id"] for view in demo.json("list", "renamed", "source:sample")] == [bad]


def test_a_list_goes_on_after_a_record(demo: Shell) -> None:
    ids = demo.ids()

    first = demo("list", "--limit", "2")
    rest = demo.json("list", "--after", ids[1])

    assert f"--after {ids[1]}" in first.stderr
    assert first.stdout.count("\n") == 3
    assert [view["id"] for view in rest] == ids[2:]


def test_a_list_names_the_machine_only_where_there_are_several(demo: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_text("a contract")
    before = demo("list").stdout
    demo("submit", str(file), "--machine", "contract")

    after = demo("list").stdout

    assert before.split()[:2] == ["id", "status"]
    assert after.split()[:3] == ["id", "machine", "status"]


def test_a_history_reads_as_a_story(demo: Shell) -> None:
    record_id = demo.ids("checking")[0]

    lines = demo("history", record_id).stdout.splitlines()

    assert len(lines) == 5
    assert re.fullmatch(
        rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\dZ +after [\d.]+ m?s +{record_id}: parsing → parsed "
        r"\(parse.completed, 7 observations\)",
        lines[2],
    )


def test_a_history_for_programs_has_all_that_the_export_has(demo: Shell, tmp_path: Path) -> None:
    record_id = demo.ids("checking")[0]

    lines = demo.json("history", record_id)

    demo("export", "history", "--out", str(tmp_path / "out"))
    written = (tmp_path / "out" / "transitions.jsonl").read_text()
    exported = [json.loads(line) for line in written.splitlines()]
    own = [line for line in exported if line["record_id"] == record_id]
    # The seal of a transition binds it to the one before of its record; an export adds its place in its lane.
    sealed = [{**line, "hash": line["seal"], "prev_hash": line["record_prev"]} for line in own]
    of_lanes = {"lane", "lane_seq", "lane_prev", "lane_hash", "seal", "record_prev"}
    assert own[0].keys().isdisjoint({"hash", "prev_hash"})  # one name has one meaning
    shared = sealed[0].keys() - of_lanes
    assert [{key: line[key] for key in shared} for line in lines] == [
        {key: line[key] for key in shared} for line in sealed
    ]


def test_an_explanation_says_what_to_do(demo: Shell) -> None:
    (bad,) = demo.ids("status:error")

    text, answer = demo("explain", bad).stdout, demo.json("explain", bad)

    assert "UNKNOWN_FORMAT" in text
    assert f"stateward retry {bad}" in text
    assert (answer["id"], answer["status"], answer["code"]) == (bad, "error", "failed")


def test_a_finished_record_needs_no_advice(demo: Shell) -> None:
    assert "what to do" not in demo("explain", demo.ids("checking")[0]).stdout


def test_logs_are_for_people_and_programs(demo: Shell) -> None:
    (bad,) = demo.ids("status:error")

    text = demo("logs", bad).stdout
    (attempt,) = demo.json("logs", bad)
    line = json.loads(
        demo("logs", bad, "--stage", "parse", "--attempt", "1", "--jsonl").stdout.splitlines()[-1]
    )

    assert text.startswith("parse, attempt 1: failed with UNKNOWN_FORMAT")
    assert "\n    Traceback (most recent call last):\n" in text
    assert (attempt["outcome"], attempt["error_code"]) == ("failed", "UNKNOWN_FORMAT")
    assert (line["stage"], line["attempt"], line["level"]) == ("parse", 1, "error")


def test_the_first_attempt_at_each_stage_is_number_1(demo: Shell) -> None:
    done = demo("logs", demo.ids("checking")[0], "--attempt", "1").stdout

    assert "parse, attempt 1: done" in done
    assert "normalize, attempt 1: done" in done


@pytest.mark.parametrize("args", [("--stage", "nothing"), ("--attempt", "99")])
def test_a_log_that_is_not_there_is_unknown(demo: Shell, args: tuple[str, ...]) -> None:
    assert demo("logs", demo.ids("status:error")[0], *args).exit_code == Exit.UNKNOWN


def test_before_the_first_attempt_there_is_no_log_and_no_item(shell: Shell) -> None:
    (row,) = [
        json.loads(line)
        for line in shell("submit", "-", "--jsonl", stdin=b"a\n").stdout.splitlines()
    ]

    logs, items = shell("logs", row["id"]), shell("items", row["id"])

    assert (logs.exit_code, logs.stdout) == (0, "")
    assert "no attempt has ended yet" in logs.stderr
    assert (items.exit_code, items.stdout) == (0, "")
    assert "has produced anything yet" in items.stderr


def test_items_are_lines_of_the_last_stage_unless_another_is_named(demo: Shell) -> None:
    record_id = demo.ids("girokonto")[0]

    last = [json.loads(line) for line in demo("items", record_id).stdout.splitlines()]
    first = demo.json("items", record_id, "--stage", "parse", "--limit", "2")

    assert (last[1]["description"], last[1]["amount"]) == ("Bahn Fahrkarte", "-49.00")
    assert (first[1]["description"], first[1]["amount"]) == ("  Bahn   Fahrkarte ", "-49,00")
    assert len(first) == 2
    assert demo("items", record_id, "--stage", "nothing").exit_code == Exit.UNKNOWN


def test_errors_are_grouped(demo: Shell, shell: Shell) -> None:
    (group,) = demo.json("errors")

    assert (group["error_code"], group["count"]) == ("UNKNOWN_FORMAT", 1)
    assert "UNKNOWN_FORMAT" in demo("errors").stdout
    assert shell("errors").stderr.splitlines()[-1] == "no record has failed"
    assert demo.json("errors", "--machine", group["machine"]) == [group]
    other = demo("errors", "--machine", "contract")
    assert (other.stdout, other.stderr) == ("", "no record of contract has failed\n")


def test_counts_stand_in_the_order_of_the_machine(demo: Shell, shell: Shell) -> None:
    rows = demo.json("counts")

    assert [(row["status"], row["count"]) for row in rows] == [("normalized", 2), ("error", 1)]
    assert demo("counts").stdout.splitlines()[1].split() == ["upload", "normalized", "2"]
    assert [row["status"] for row in demo.json("counts", "-status:error")] == ["normalized"]
    assert shell("counts").stderr.splitlines()[-1] == "there are no records yet"
    assert shell("counts", "status:error").stderr.splitlines()[-1] == "there is no such record"


@pytest.mark.parametrize(
    ("micros", "words"),
    [
        (0, "0 ms"),
        (412_300, "412 ms"),
        (3_240_000, "3.2 s"),
        (125_000_000, "2 min 5 s"),
        (3 * 3_600_000_000 + 60_000_000, "3 h 1 min"),
        (50 * 3_600_000_000, "2 d 2 h"),
        (59_960_000, "60.0 s"),
        (3_599_700_000, "1 h 0 min"),
    ],
)
def test_a_span_is_said_as_people_say_it(micros: int, words: str) -> None:
    assert span(micros) == words


def test_texts_are_cut_and_moments_have_a_zone() -> None:
    assert cut("x" * 200, chars_max=5) == "xxxx…"
    assert moment(1_700_000_000_000_000) == "2023-11-14 22:13:20Z"
    assert safe("a\x9b\u202eb\ud800\t") == "a\\x9b\\u202eb\\ud800\\t"


def test_the_beginning_of_an_id_is_enough_where_no_http_client_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stateward.client", None)

    with App.embedded(tmp_path) as app:
        record_id = app.submit(b"date;amount;text\n", machine="upload").record.id

        assert CliContext().whole_id(app, record_id[:10]) == record_id

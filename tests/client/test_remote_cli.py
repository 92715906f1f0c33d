"""The command line with --server: the same words, the same documents and the same exit codes as beside the database."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from stateward.app.feed import feed_of
from stateward.cli import cli
from stateward.cli.exit_codes import Exit
from stateward.client import Client
from stateward.notifications.feed_targets import FeedMessage
from stateward.schemas import ReviewTask
from stateward.settings import FeedSettings
from stateward.storage.dead_letters import DeadLetter
from tests.server.api_client import ApiClient, serving, settings_at, statement
from tests.server.contracts import waiting


@pytest.fixture(autouse=True)
def nothing_is_set_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "PROFILE", "DATA", "STORE_URL", "SERVER", "KEY"):
        monkeypatch.delenv(f"STATEWARD_{name}", raising=False)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service with two uploads that ended and one that failed; tests only look at it."""
    with serving(settings_at(tmp_path_factory.mktemp("far"))) as found:
        for number in range(2):
            found.sent(statement(number), name=f"file-{number}.csv")
        found.sent(b"date;amount;text\nno date;no amount;x\n", name="broken.csv")
        found.work()
        now = found.app.clock()
        letters = [
            DeadLetter(kind="event", body=f'{{"id": {i}}}', reason="it has no kind", at=now + i)
            for i in range(3)
        ]
        found.app.store.dead_letters.add(letters)
        yield found


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiClient]:
    with serving(settings_at(tmp_path / "data")) as found:
        yield found


def far(api: ApiClient, *args: str, **how: Any) -> Result:  # noqa: ANN401 - click's own words
    return CliRunner().invoke(cli, ["--server", api.url, *args], **how)


def near(api: ApiClient, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--data", str(api.app.settings.data_path), *args])


def ids(api: ApiClient) -> list[str]:
    return [each.id for each in api.app.records.find(api.app.records.query(""))]


@pytest.mark.parametrize(
    "args",
    [
        ["list"],
        ["list", "--json"],
        ["list", "status:error", "--jsonl"],
        ["list", "--limit", "1"],
        ["dead-letters"],
        ["dead-letters", "--limit", "2", "--jsonl"],
        ["audit", "list", "--jsonl"],
        ["audit", "list", "--verb", "none"],
        ["audit", "export", "-"],
        ["webhook", "list", "--jsonl"],
        ["webhook", "log"],
        ["webhook", "show", "WH_nothing"],
        ["status", "{id}"],
        ["status", "{id}", "--json"],
        ["history", "{id}"],
        ["history", "{id}", "--jsonl"],
        ["explain", "{id}", "--json"],
        ["provenance", "{id}"],
        ["provenance", "{id}", "--format", "openlineage"],
        ["verify"],
        ["verify", "--json"],
        ["list", "--format", "csv"],
        ["reprocess", "UL_nothing"],
        ["advance", "{id}"],
        ["logs", "{id}", "--jsonl"],
        ["logs", "{id}", "--stage", "parse", "--json"],
        ["items", "{id}", "--stage", "normalize"],
        ["items", "{id}", "--json"],
        ["errors"],
        ["errors", "--machine", "upload", "--json"],
        ["errors", "--machine", "uplaod"],
        ["counts", "--json"],
        ["counts", "status:error"],
        ["status", "UL_nothing"],
        ["history", "UL_nothing", "--json"],
        ["list", "status:parsnig"],
        ["list", "--status", "parsnig"],
        ["logs", "{id}", "--stage", "prase"],
        ["retry", "{id}"],
        ["cancel", "--query", "status:normalized", "--dry-run"],
        ["retry", "--query", "", "--yes"],
        ["feed", "status"],
        ["feed", "replay", "--from", "1"],
    ],
)
def test_what_is_said_from_afar_is_what_is_said_nearby(worked: ApiClient, args: list[str]) -> None:
    newest = next(each for each in ids(worked) if worked.app.record(each).status == "normalized")
    written = [arg.replace("{id}", newest) for arg in args]

    there, here = far(worked, *written), near(worked, *written)

    assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout)
    assert there.stderr == here.stderr


def test_documents_are_sent_and_waited_for_from_afar(api: ApiClient, tmp_path: Path) -> None:
    file = tmp_path / "january.csv"
    file.write_bytes(statement(1))

    sent = far(
        api, "submit", str(file), "--source-type", "bank_csv", "--label", "client=42", "--json"
    )
    again = far(api, "submit", "-", "--name", "piped.csv", "--json", input=statement(1))
    refused = far(
        api, "submit", str(tmp_path / "nothing.csv"), str(file), "--source-type", "bank_cvs"
    )
    api.work()
    waited = far(api, "submit", str(file), "--wait", "--timeout", "20")

    (row,) = json.loads(sent.stdout)
    assert (sent.exit_code, row["outcome"], row["status"]) == (0, "new", "queued_for_parse")
    assert json.loads(again.stdout)[0]["id"] == row["id"]
    assert json.loads(again.stdout)[0]["outcome"] == "duplicate"
    assert refused.exit_code == 4
    assert "there is no source type 'bank_cvs'" in refused.stderr
    assert (waited.exit_code, "finished: normalized" in waited.stderr) == (0, True)
    assert api.app.record(row["id"]).labels["client"] == "42"


def test_actions_from_afar_are_done_and_kept_with_their_key(api: ApiClient) -> None:
    _, key = api.app.admin.new_key("anna", role="operator")
    for number in range(3):
        api.app.submit(statement(number), labels={"source_type": "bank_csv"})
    first = ids(api)[0]
    environ = {"STATEWARD_KEY": key, "STATEWARD_SERVER": api.url}

    one = CliRunner().invoke(cli, ["cancel", first, "--reason", "by mistake"], env=environ)
    many = CliRunner().invoke(
        cli, ["cancel", "--query", "machine:upload", "--yes", "--json"], env=environ
    )
    paused = CliRunner().invoke(cli, ["pause", "upload", "--stage", "parse"], env=environ)
    resumed = CliRunner().invoke(
        cli, ["resume", "upload", "--stage", "parse", "--json"], env=environ
    )
    without = far(api, "list")

    assert (one.exit_code, "→ error (cancel.requested" in one.stdout) == (0, True), one.stderr
    assert json.loads(many.stdout)["applied"] == 2
    assert many.exit_code == 4  # the first was refused
    assert (paused.exit_code, json.loads(resumed.stdout)["was_paused"]) == (0, True)
    assert api.app.records.history(first)[-1].actor.startswith("person:anna@")
    assert (without.exit_code, "STATEWARD_KEY" in without.stderr) == (4, True)


def test_webhooks_are_managed_over_http(api: ApiClient) -> None:
    def asked(*args: str) -> dict[str, Any]:
        answer = far(api, "webhook", *args, "--json")
        assert answer.exit_code == Exit.OK, answer.stderr
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    made = asked("add", "https://hooks.example/in", "--event", "upload.*")
    webhook_id = made["id"]
    assert made["secret"].startswith("whsec_")
    assert "secret" not in asked("show", webhook_id)
    assert asked("rotate", webhook_id)["secret"] != made["secret"]
    assert asked("disable", webhook_id, "--reason", "moving")["disabled_reason"].endswith("moving")
    assert asked("enable", webhook_id)["is_enabled"]

    sent = api.app.notifications.ping(webhook_id).message_id
    (told,) = json.loads(far(api, "webhook", "log", webhook_id, "--json").stdout)
    assert (told["message_id"], told["state"]) == (sent, "pending")
    assert asked("log", webhook_id, "--message", sent)["log"] == []
    assert asked("replay", "--dead") == {"replayed": 0}

    assert asked("remove", webhook_id) == {"removed": webhook_id}
    assert far(api, "webhook", "rotate", webhook_id).exit_code == Exit.UNKNOWN


@pytest.mark.parametrize(
    ("command", "roles"),
    [
        ("show", "operator or admin"), ("ping", "operator or admin"),
        ("enable", "admin"), ("disable", "admin"), ("rotate", "admin"), ("remove", "admin"),
    ],
)  # fmt: skip
def test_who_may_not_do_something_with_a_webhook_learns_which_role_may(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, command: str, roles: str
) -> None:
    made = api.app.notifications.add(
        "https://hooks.example/in", events=("upload.*",), actor="person:anna"
    )
    _, text = api.app.admin.new_key("rosa", role="reviewer")
    monkeypatch.setenv("STATEWARD_KEY", text)

    done = far(api, "webhook", command, made.id[:8])

    assert done.exit_code == Exit.REFUSED
    assert f"it needs the role {roles}\n" in done.stderr


def test_keys_are_managed_over_http(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    first = far(api, "key", "create", "anna", "--role", "viewer")
    _, text = api.app.admin.new_key("root", role="admin")
    monkeypatch.setenv("STATEWARD_KEY", text)

    made = json.loads(far(api, "key", "create", "bob", "--role", "viewer", "--json").stdout)
    listed = [json.loads(far(api, "key", "list", "--json").stdout) for _ in range(2)][1]
    near_by = json.loads(near(api, "key", "list", "--json").stdout)
    closed = far(api, "key", "revoke", made["id"])
    monkeypatch.setenv("STATEWARD_KEY", made["key"])
    late = far(api, "key", "list")

    assert first.exit_code == Exit.REFUSED
    assert "the first key is made at the machine of the service" in first.stderr
    assert [each["name"] for each in listed] == [each["name"] for each in near_by]
    assert all("key" not in each for each in listed)
    assert closed.stdout == f"{made['id']} is revoked\n"
    assert late.exit_code == Exit.REFUSED


def test_what_could_not_be_read_is_listed_page_by_page_for_operators(worked: ApiClient) -> None:
    with Client(worked.url) as client:
        found = list(client.dead_letters(limit=2))

    assert [each.body for each in found] == ['{"id": 2}', '{"id": 1}', '{"id": 0}']
    assert "inspect them and their senders: stateward dead-letters" in far(worked, "doctor").stdout


def test_the_change_feed_is_looked_at_and_replayed_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = FeedSettings(url="redis://127.0.0.1")  # which is not asked
    with serving(replace(settings_at(tmp_path / "data"), feed=feed)) as api:
        api.sent()
        behind = json.loads(far(api, "feed", "status", "--json").stdout)
        feed_of(api.app).step(Swallowing())
        sent = far(api, "feed", "status")
        ahead = far(api, "feed", "replay", "--from", "99")
        again = json.loads(far(api, "feed", "replay", "--from", "1", "--json").stdout)
        audited = api.app.audit.entries(verb="feed.replayed")
        monkeypatch.setenv("STATEWARD_KEY", api.app.admin.new_key("bob", role="operator")[1])
        others = [far(api, "feed", *args) for args in (["status"], ["replay", "--from", "1"])]

    end = behind["end"]
    assert (behind["sent"], behind["behind"], behind["is_late"]) == (0, end, False)
    assert sent.stdout == f"sent up to {end} of {end}; 0 transitions to send\n"
    assert (ahead.exit_code, f"from 1 to {end + 1}" in ahead.stderr) == (Exit.REFUSED, True)
    assert (again["sent"], again["behind"]) == (0, end)
    assert [each.detail for each in audited] == [{"from": 1}]
    assert [each.exit_code for each in others] == [Exit.REFUSED, Exit.REFUSED]


class Swallowing:
    """An engine that takes everything."""

    def send(self, messages: Sequence[FeedMessage]) -> None:
        assert messages

    def close(self) -> None:
        pass


@pytest.mark.parametrize("args", [["key", "link", "x"], ["watch", "."]])
def test_what_needs_the_database_says_so_and_what_to_do(worked: ApiClient, args: list[str]) -> None:
    done = far(worked, *args)

    command = " ".join(args[:2] if args[0] == "key" else args[:1])
    assert done.exit_code == 4
    assert f"{command} works on the database itself, not over HTTP" in done.stderr
    assert "without --server" in done.stderr


def test_a_server_that_is_not_there_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateward.client.time.sleep", lambda _: None)

    done = CliRunner().invoke(cli, ["--server", "http://127.0.0.1:9", "list"])

    assert done.exit_code == 6
    assert "stateward up" in done.stderr


@pytest.mark.parametrize("server", ["ftp://x", "nothing", "http://user:password@host"])
def test_an_address_that_is_none_is_refused(server: str) -> None:
    done = CliRunner().invoke(cli, ["--server", server, "list"])

    assert done.exit_code == 4
    assert "url must be http or https" in done.stderr
    assert "password" not in done.stderr


def test_reviews_are_decided_from_afar_as_they_are_here(api: ApiClient) -> None:
    first, second = waiting(api.app), waiting(api.app)

    rows = [json.loads(way(api, "review", "list", "--json").stdout) for way in (far, near)]
    listed = [each["record_id"] for each in rows[0]]
    shown = [way(api, "review", "show", first.id) for way in (far, near)]
    taken = far(api, "review", "claim", first.id)
    refused = near(api, "review", "approve", first.id)
    wrong = far(api, "review", "correct", first.id, "--set", "monthly_rate=cheap")
    approved = far(api, "review", "approve", first.id, "--reason", "seen")
    again = far(api, "review", "approve", first.id)
    far(api, "review", "reject", second.id, "--reason", "no")

    assert listed == [first.id, second.id]
    assert {tuple(each) for each in rows[0] + rows[1]} == {ReviewTask.__struct_encode_fields__}
    assert shown[0].stdout == shown[1].stdout
    assert taken.exit_code == 0
    assert [each.exit_code for each in (refused, wrong, approved, again)] == [5, 4, 0, 5]
    assert "monthly_rate" in wrong.stderr
    assert "decided it already" in again.stderr
    assert api.app.record(second.id).status == "rejected"
    gold = [way(api, "review", "export", "--gold", "-").stdout for way in (far, near)]
    counted = [way(api, "review", "statistics").stdout for way in (far, near)]
    assert (gold[0], len(gold[0].splitlines())) == (gold[1], 2)
    assert counted[0] == counted[1] != ""


def test_the_history_is_exported_and_held_to_a_checkpoint_from_afar(
    api: ApiClient, tmp_path: Path
) -> None:
    api.sent()
    kept, newer, folder = tmp_path / "kept", tmp_path / "newer", tmp_path / "history"
    near(api, "verify", "--out", str(kept))
    api.sent(statement(2))
    near(api, "verify", "--out", str(newer))
    newer.write_text(newer.read_text().replace("lane 0 2 ", "lane 0 9 "))

    sound = far(api, "verify", "--checkpoint", str(kept))
    cut = far(api, "verify", "--checkpoint", str(newer))
    none = far(api, "verify", "--checkpoint", __file__)
    exported = far(api, "export", "history", "--out", str(folder))
    again = far(api, "export", "history", "--out", str(folder))

    assert [each.exit_code for each in (sound, none, exported, again)] == [0, 4, 0, 4]
    assert cut.exit_code != 0
    lines = (folder / "transitions.jsonl").read_text().splitlines()
    assert len(lines) == len(api.app.store.log.read())
    assert json.loads(lines[0])["version"] == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_an_export_that_is_refused_leaves_what_was_there(
    api: ApiClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = api.app.admin.new_key("vera", role="viewer")
    monkeypatch.setenv("STATEWARD_KEY", key)
    kept, folder = tmp_path / "kept.jsonl", tmp_path / "history"
    kept.write_text("an earlier export")

    for args in (
        ("review", "export", "--gold", str(kept)),
        ("audit", "export", str(kept)),
        ("export", "history", "--out", str(folder)),
    ):
        assert far(api, *args).exit_code == Exit.REFUSED

    assert kept.read_text() == "an earlier export"
    assert not folder.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "kept.jsonl"]


def test_erasure_holds_and_retention_are_the_servers(api: ApiClient) -> None:
    record_id = api.sent()
    api.work()
    short = record_id[:12]

    held = far(api, "hold", short, "--reason", "case 12")
    listed = json.loads(far(api, "hold", "--list", "--json").stdout)
    refused = far(api, "erase", short, "--reason", "request 17", "--yes")
    released = far(api, "hold", record_id, "--release", "--reason", "it is closed")
    shown = far(api, "erase", record_id, "--reason", "request 17")
    there = api.app.record(record_id).labels
    done = json.loads(
        far(api, "erase", record_id, "--reason", "request 17", "--yes", "--json").stdout
    )

    assert (held.exit_code, released.exit_code, refused.exit_code) == (0, 0, Exit.REFUSED)
    assert [(each["record_id"], each["reason"]) for each in listed] == [(record_id, "case 12")]
    assert "case 12" in refused.stdout
    assert ("would be erased" in shown.stderr, there == {}) == (True, False)
    assert (done["erased"], api.app.record(record_id).labels) == ([record_id], {})
    assert any("unused parts of the database" in each for each in done["copies"])
    assert "there are no rules" in far(api, "retention").stderr


def test_ids_are_begun_over_http_as_they_are_beside_the_database(api: ApiClient) -> None:
    record_id = api.sent()
    begun = record_id[:4]  # the prefix and one character

    found = [each(api, "status", begun, "--json") for each in (near, far)]

    assert [json.loads(each.stdout)["id"] for each in found] == [record_id, record_id]


def test_what_begins_several_ids_by_now_means_none_of_them(api: ApiClient) -> None:
    record_id = api.sent()
    begun = record_id[:4]
    before = far(api, "history", begun, "--json")
    api.sent(statement(7), name="another.csv")

    after = [
        each(api, *args)
        for each in (near, far)
        for args in (("history", begun), ("cancel", begun, "--reason", "x", "--yes"))
    ]

    assert json.loads(before.stdout)[0]["record_id"] == record_id
    assert {each.exit_code for each in after} == {Exit.REFUSED}
    assert all(f"{begun} is the beginning of several ids" in each.stderr for each in after)
    assert api.app.record(record_id).status == "queued_for_parse"

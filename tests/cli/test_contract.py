"""What holds for every command of the tree, present and to come."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from stateward.app import App
from stateward.cli import cli
from stateward.cli.commands import PROFILES, Command, Group
from stateward.cli.context import CliContext
from stateward.cli.exit_codes import Exit
from stateward.cli.reference import main, pages, root, walk
from stateward.core.model import OUTSIDE, SEQUENCING
from stateward.engine.coordinator import Submission
from stateward.ledger import Ledger, LedgerState
from stateward.settings import PROFILES as PROFILES_OF_SETTINGS
from stateward.settings import Settings, describe_settings
from stateward.storage.outputs import DERIVED_FILES
from tests.cli.shell import Shell
from tests.cli.test_reviews import RIGHT
from tests.server.contracts import waiting

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"

# Every command with arguments that make it answer. {ok} and {bad} are records, {new} is a fresh path.
CALLS: dict[str, str] = {
    "submit": "submit {file}",
    "status": "status {ok}",
    "list": "list status:error",
    "history": "history {ok}",
    "provenance": "provenance {ok}",
    "explain": "explain {bad}",
    "logs": "logs {bad}",
    "items": "items {ok}",
    "files": "files {ok}",
    "file": "file {ok} parse/a.txt --out {new}",
    "search": "search shop",
    "errors": "errors",
    "counts": "counts",
    "retry": "retry {bad}",
    "cancel": "cancel --query is:waiting --dry-run",
    "set-priority": "set-priority --query is:waiting --to 9 --dry-run",
    "advance": "advance {held}",
    "review list": "review list",
    "review show": "review show {review}",
    "review claim": "review claim {review}",
    "review unclaim": "review unclaim {review}",
    "review statistics": "review statistics",
    "review ask": "review ask {review} --to bob",
    "review link": "review link {review} --for anna@example.org",
    "review links": "review links {review}",
    "review revoke-link": "review revoke-link {review} {link}",
    "review approve": "review approve {review}",
    "review reject": "review reject {review} --reason no",
    "review correct": "review correct {review} --values {values}",
    "flag confirm": "flag confirm {flagged}",
    "flag reject": "flag reject {flagged} --reason incomplete",
    "reparse": "reparse {ok} --dry-run",
    "export items": "export items {ok}",
    "rules test": "rules test shop",
    "reprocess": "reprocess {ok}",
    "review export": "review export --gold {new}",
    "pause": "pause upload --stage parse",
    "resume": "resume upload",
    "machine list": "machine list",
    "machine show": "machine show upload",
    "machine check": "machine check {machine}",
    "machine graph": "machine graph contract --format svg",
    "webhook add": "webhook add https://example.com/hook --event upload.error",
    "webhook list": "webhook list",
    "webhook show": "webhook show {webhook}",
    "webhook rotate": "webhook rotate {webhook}",
    "webhook enable": "webhook enable {webhook}",
    "webhook disable": "webhook disable {webhook} --reason moving",
    "webhook remove": "webhook remove {webhook}",
    "webhook ping": "webhook ping {webhook}",
    "webhook log": "webhook log",
    "webhook dead": "webhook dead {webhook}",
    "webhook replay": "webhook replay --dead",
    "verify": "verify",
    "export history": "export history --out {new}",
    "doctor": "doctor",
    "completion": "completion bash",
    "bench": "bench --records 5",
    "eval statements": "eval statements {inbox}",
    "eval clauses": "eval clauses {inbox}",
    "eval contracts": "eval contracts {inbox}",
    "eval catalogs": "eval catalogs {inbox}",
    "eval experiments": "eval experiments {inbox}",
    "eval images": "eval images {inbox}",
    "eval labs": "eval labs {inbox}",
    "eval literature": "eval literature {inbox}",
    "eval web": "eval web {inbox}",
    "eval documents": "eval documents {inbox}",
    "eval inspection": "eval inspection {inbox}",
    "literature add": "literature add 31452104",
    "literature status": "literature status",
    "literature skip": "literature skip {ok} --dry-run",
    "literature complete": "literature complete {ok} --dry-run",
    "literature adopt": "literature adopt {ledger}",
    "literature retry": "literature retry {bad} --dry-run",
    "literature cite": "literature cite {paper}",
    "literature ir": "literature ir {paper}",
    "literature duplicates": "literature duplicates",
    "literature refresh": "literature refresh --query status:skipped --dry-run",
    "models install": "models install minilm --dry-run",
    "ledger init": "ledger init {new}",
    "ledger append": "ledger append {ledger} doc:9 pending",
    "ledger state": "ledger state {ledger}",
    "ledger history": "ledger history {ledger} doc:1",
    "ledger next": "ledger next {ledger} doc:1",
    "ledger stats": "ledger stats {ledger}",
    "ledger stuck": "ledger stuck {ledger} --older-than 999d",
    "ledger query": "ledger query {ledger} SELECT*FROM(ledger)",
    "ledger watch": "ledger watch {ledger} --after 0 --until-idle",
    "ledger repair": "ledger repair {ledger}",
    "ledger prove": "ledger prove {ledger} 1",
    "ledger checkpoint": "ledger checkpoint {ledger}",
    "key signing create": "key signing create example.org/history --out {new}",
    "ledger compact": "ledger compact {ledger}",
    "ledger snapshots": "ledger snapshots {ledger}",
    "ledger rollback": "ledger rollback {ledger} 2",
    "ledger archive": "ledger archive {ledger}",
    "ledger export": "ledger export {ledger} --out {new}",
    "ledger migrate": "ledger migrate {old} --output {new} --yes",
    "up": "up --until-idle",
    "bundle": "bundle {published} --out {new}",
    "duplicates": "duplicates",
    "watch": "watch {inbox} --once",
    "rebuild": "rebuild {ok}",
    "key create": "key create anna --role viewer",
    "key list": "key list",
    "key link": "key link {key}",
    "key revoke": "key revoke {key}",
    "key worker create": "key worker create ocr --stages upload.parse --out {new}",
    "key worker list": "key worker list",
    "key worker revoke": "key worker revoke {worker_key}",
    "settings show": "settings show",
    "settings reference": "settings reference",
    "demo": "demo --only images",
    "feed status": "feed status --config {feeding}",
    "feed replay": "feed replay --from 1 --config {feeding}",
    "backup": "backup {new}",
    "clock show": "clock show",
    "clock confirm": "clock confirm --reason checked",
    "restore": "restore {set} --data {new}",
    "erase": "erase {ok} --reason asked",
    "retention": "retention",
    "hold": "hold --list",
    "audit list": "audit list",
    "audit export": "audit export {new}",
    "dead-letters": "dead-letters",
    "secrets create": "secrets create {new}",
    "secrets rotate": "secrets rotate",
    "secrets seal": "secrets seal",
}
STAYING = {
    "api",
    "coordinator",
    "worker",
    "notifier",
    "webhook listen",
}  # they run until they are told to stop; test_roles.py calls them


def contexts() -> Iterator[click.Context]:
    yield from walk(root())


@cache
def commands() -> dict[str, click.Command]:
    return {each.command_path.removeprefix("stateward "): each.command for each in contexts()}


def leaves() -> list[str]:
    return [
        path
        for path, each in commands().items()
        if not isinstance(each, click.Group) and not each.hidden
    ]


def test_every_command_has_a_call_in_these_tests() -> None:
    assert set(leaves()) == CALLS.keys() | STAYING


# One test for all commands where each takes a moment: a test for each costs more than what it does.
def test_a_command_is_ours_and_shows_an_example_in_its_help(shell: Shell) -> None:
    assert [path for path in commands() if not is_ours_and_explained(path, shell)] == []


def is_ours_and_explained(path: str, shell: Shell) -> bool:
    command = commands()[path]
    done = shell(*path.split(), "--help")
    return (
        isinstance(command, Command | Group)
        and done.exit_code == 0
        and "Examples:" in done.stdout
        and (isinstance(command, Group) or all(names(path, each) for each in command.examples))
    )


def names(path: str, example: str) -> bool:
    return f"stateward {path}" in re.sub(r"stateward (--\w+ \S+ )+", "stateward ", example)


def test_the_first_sentence_of_a_help_fits_into_the_list_of_commands() -> None:
    sentences = [each.get_short_help_str(limit=1000) for each in commands().values()]

    assert [each for each in sentences if not (10 < len(each) <= 60 and each.endswith("."))] == []


def test_every_option_says_what_it_means_and_names_its_number() -> None:
    options = [
        (path, option)
        for path, command in commands().items()
        for option in command.params
        if isinstance(option, click.Option)
    ]

    assert [(path, each.name) for path, each in options if not each.help] == []
    ranges = [(path, each) for path, each in options if isinstance(each.type, click.IntRange)]
    assert [(path, each.name) for path, each in ranges if not each.metavar] == []


def test_every_example_can_be_read() -> None:
    examples = [
        each for command in commands().values() for each in getattr(command, "examples", ())
    ]

    assert len(examples) > len(commands())
    assert [each for each in examples if not is_read_to_the_end(each)] == []


def is_read_to_the_end(example: str) -> bool:
    program, *args = shlex.split(example.rpartition("| ")[2])
    try:
        return program == "stateward" and read_to_the_end(args) not in (None, "stateward")
    except click.ClickException as wrong:
        raise AssertionError(f"{example}: {wrong.format_message()}") from wrong


def read_to_the_end(args: list[str]) -> str | None:
    context = cli.make_context("stateward", args, obj=CliContext())
    while isinstance(context.command, click.Group):
        left = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, left)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context.info_name


def a_paper_in(shell: Shell) -> str:
    """A paper that was read."""
    text = "On soup\n\nAbstract\nSoup is warm, and this paper says so at length.\n"
    with App(Settings.load(environ={"STATEWARD_DATA": str(shell.data)})) as app:
        record = app.submit(text.encode(), machine="literature").record
        app.run_until_idle()
    return record.id


def a_flagged_record_in(shell: Shell) -> str:
    """A statement that does not add up."""
    text = b"Date,Text,Amount,Balance\n2026-01-05,a,-1.00,9.00\n2026-01-06,b,-1.00,1.00\n"
    with App(Settings.load(environ={"STATEWARD_DATA": str(shell.data)})) as app:
        record = app.submit(text).record
        app.run_until_idle()
    return record.id


@pytest.fixture
def filled(demo: Shell, tmp_path: Path) -> Callable[[str], list[str]]:
    """A call with everything in braces filled in."""
    file = tmp_path / "new.csv"
    file.write_text("a,b\n1,2\n")
    machine = ROOT / "src" / "stateward" / "pipelines" / "uploads" / "machine.yaml"
    names = {
        "ok": demo.ids("status:normalized")[0],
        "bad": demo.ids("status:error")[0],
        "file": str(file),
        "machine": str(machine),
        "new": str(tmp_path / "new"),
        "ledger": str(tmp_path / "ledger"),
        "inbox": str(tmp_path / "inbox"),
        "old": str(tmp_path / "old.jsonl"),
        "values": str(tmp_path / "values.json"),
        "gold": str(tmp_path / "gold.jsonl"),
        "feeding": str(tmp_path / "feeding.yaml"),
    }
    (tmp_path / "feeding.yaml").write_text("feed: redis://127.0.0.1\n")  # which is not asked
    (tmp_path / "values.json").write_text(json.dumps(RIGHT))
    (tmp_path / "gold.jsonl").write_text("")
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.csv").write_text("Date,Text,Amount\n2026-01-05,a,-1.00\n")
    (tmp_path / "old.jsonl").write_text('{"doc_id":"doc:1","state":"auto_done"}\n')
    with Ledger.open(tmp_path / "ledger") as ledger:
        ledger.record("doc:1", LedgerState.PENDING)
        ledger.record("doc:1", LedgerState.FETCHING, adapter="pubmed")
        ledger.compact()

    def fill(path: str) -> list[str]:
        if path == "ledger query":
            pytest.importorskip("duckdb")
        if "{webhook}" in CALLS[path]:  # nothing is sent there: it is not a public address
            made = demo.json("webhook", "add", "https://localhost/hook", "--event", "*")
            names["webhook"] = made["id"]
        if "{review}" in CALLS[path] or "{held}" in CALLS[path]:
            names.update(contracts_in(demo))
        if "{flagged}" in CALLS[path]:
            names["flagged"] = a_flagged_record_in(demo)
        if path == "file":
            with App(Settings.load(environ={"STATEWARD_DATA": str(demo.data)})) as app:
                derive(app, names["ok"])
        if "{published}" in CALLS[path]:
            names["published"] = published_in(demo)
        if "{set}" in CALLS[path]:
            made = demo.json("backup", str(tmp_path / "backup"))
            names["set"] = str(tmp_path / "backup/sets" / made["name"])
        if "{paper}" in CALLS[path]:
            names["paper"] = a_paper_in(demo)
        if "{key}" in CALLS[path]:
            names["key"] = demo.json("key", "create", "bert", "--role", "viewer")["id"]
        if "{worker_key}" in CALLS[path]:
            options = ("--stages", "upload.*", "--out", str(tmp_path / "worker.json"))
            names["worker_key"] = demo.json("key", "worker", "create", "far", *options)["id"]
        return CALLS[path].format(**names).split()

    return fill


def derive(app: App, record_id: str) -> None:
    """Have the stage `parse` of a record a derived file."""
    stored = app.artifacts.put([b"bytes"], bytes_max=5)
    version = app.record(record_id).outputs["parse"]
    row = (record_id, version, "a.txt", 0, "parse", "text/plain", stored.size, stored.sha256)
    app.database.insert(DERIVED_FILES, [row])


def published_in(demo: Shell) -> str:
    """Research data that a person has published."""
    with App(Settings.load(environ={"STATEWARD_DATA": str(demo.data)})) as app:
        record = app.submit(b"x,y\n1,2\n3,4\n", machine="experiments", name="xy.csv").record
        app.run_until_idle()
    assert demo("review", "approve", record.id).exit_code == 0
    return record.id


def contracts_in(demo: Shell) -> dict[str, str]:
    """A contract that waits for a person, with a link to it, and one that waits for its external driver."""
    with App(Settings.load(environ={"STATEWARD_DATA": str(demo.data)})) as app:
        held = Submission(machine="contract", actor="person:ann", labels={SEQUENCING: OUTSIDE})
        record_id = waiting(app).id
        link, _ = app.approver_links.create(
            record_id, "anna", actor="person:eve", is_administrator=True
        )
        opened = app.submissions.create([held])[0].record.id
        return {"review": record_id, "held": opened, "link": link.id}


@pytest.mark.sampled(2)
# The options that all commands share are read in one place, so a few commands show that they may stand before them too.
@pytest.mark.parametrize(
    ("place", "path"),
    [*(("after", path) for path in CALLS), ("before", "list"), ("before", "ledger stats")],
)
def test_with_json_stdout_is_one_document(
    place: str, path: str, demo: Shell, filled: Callable[[str], list[str]]
) -> None:
    args = ["--json", *filled(path)] if place == "before" else [*filled(path), "--json"]

    done = demo(*args, stdin=b"a password\n" if path == "secrets seal" else None)

    assert done.exit_code in {0, 1}, done.stderr  # 1: doctor misses a worker
    assert done.stdout.count("\n") == 1  # pretty only on a terminal
    json.loads(done.stdout)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.long] if path == "bench" else [])  # it takes seconds
        for path in CALLS
        if any(parameter.name == "jsonl" for parameter in commands()[path].params)
    ],
)
def test_a_list_can_be_had_line_by_line(
    path: str, demo: Shell, filled: Callable[[str], list[str]]
) -> None:
    done = demo(*filled(path), "--jsonl")

    assert done.exit_code == 0, done.stderr
    assert all(isinstance(json.loads(line), dict) for line in done.stdout.splitlines())


def test_json_and_jsonl_are_not_asked_for_together(shell: Shell) -> None:
    assert shell("list", "--json", "--jsonl").exit_code == Exit.USAGE


def test_the_options_of_all_commands_may_stand_after_each() -> None:
    shared = {"config", "profile", "data", "json"}

    assert [
        path
        for path in leaves()
        if not shared <= {parameter.name for parameter in commands()[path].params}
    ] == []


def test_the_profiles_are_those_of_the_settings() -> None:
    assert PROFILES == PROFILES_OF_SETTINGS


@pytest.mark.parametrize(
    "name", ["cli.md", "metrics.md", "settings.md", "transport-messages.schema.json"]
)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    text = (REFERENCE / name).read_text("utf-8")

    assert text == pages()[name], "run: python -m stateward.cli.reference docs/reference"


def test_the_reference_is_written_where_one_says(tmp_path: Path) -> None:
    main(tmp_path / "new")

    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "new").iterdir()}
    assert written == pages()


@pytest.mark.parametrize("name", ["--help", "-o"])
def test_the_reference_is_never_written_into_a_folder_named_like_an_option(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit, match="usage: "):
        main(Path(name))

    assert list(tmp_path.iterdir()) == []


def test_the_reference_names_every_command_exit_code_and_setting() -> None:
    cli_page, settings_page = pages()["cli.md"], pages()["settings.md"]

    assert all(f"## stateward {path}\n" in cli_page for path in commands())
    assert all(f"| {int(code)} | {code.meaning} |" in cli_page for code in Exit)
    assert all(each.path.split(".")[-1] in settings_page for each in describe_settings())


def test_the_help_tells_the_exit_codes(shell: Shell) -> None:
    text = " ".join(shell("--help").stdout.split())

    assert all(f" {int(code)} {code.meaning}" in text for code in Exit)


def test_no_command_prints_by_itself() -> None:
    """What goes to stdout goes through `output`, which escapes it."""
    package = ROOT / "src" / "stateward" / "cli"
    speaking = {"output.py", "context.py", "commands.py"}

    offenders = [
        path.name
        for path in package.glob("*.py")
        if path.name not in speaking
        and re.search(r"(?<![\w.])print\(|sys\.std(out|err)\.", path.read_text())
    ]

    assert offenders == []

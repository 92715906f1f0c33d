"""The documentation is true: its links lead somewhere, its commands print what it says, it leaves nothing out."""

import ast
import re
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import get_args

import pytest
from _pytest.mark.structures import ParameterSet
from msgspec import Struct
from msgspec.structs import fields

from lab.brokers import free_port
from stateward.core import (
    errors,
    machine,
    model,
    query,
)
from stateward.core.machine import Machine
from stateward.definition import declare, discovery
from stateward.workers.pipeline import Pipeline
from stateward.workers.pipeline_parts import StageOptions
from tests.docs.pages import DOCS, ROOT, Session, anchors, blocks, fenced, links, pages

SOURCES = ROOT / "src" / "stateward"
README = ROOT / "README.md"
ALL_PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
WORKED = [
    page
    for page in pages("tutorial", "how-to", "reference")
    if list(blocks(page.read_text("utf-8")))
]
SERVICE = "run-as-a-service"
LONG_PAGES = {
    "first-pipeline",
    "prove-what-happened",
    "back-up-and-restore",
    "test-a-machine",
    "stuck-documents",
    "review-contracts",
    "webhooks",
    "grow-a-machine",
    "compare-contracts",
    "read-statements",
    "drive-from-outside",
}

# Packages whose codes a record can carry. A code is written as a whole text in capitals; so are these few others.
PACKAGES_WITH_CODES = ("core", "workers", "pipelines", "engine/coordinator.py")
CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
CODE_CHARS_MIN = 5
NOT_CODES = {
    "TMPDIR",
    "MALLOC_ARENA_MAX",
    "OPENBLAS_NUM_THREADS",
    "STATEWARD_MODEL_KEY",
    "TEST_1",
    "PMCID",
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def reference(name: str) -> str:
    """A reference page on one line, so that it does not matter where its lines are broken."""
    return " ".join((DOCS / "reference" / f"{name}.md").read_text("utf-8").split())


def named(name: str) -> str:
    """How a page names something."""
    return f"`{name}`"


# Links


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [
        link for link in links(page.read_text("utf-8")) if not is_there(page.parent, link, page)
    ]

    assert not broken


def is_there(folder: Path, link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = (folder / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or anchor in anchors(target.read_text("utf-8"))


def test_the_index_leads_to_every_page_and_by_a_list_of_their_own_to_the_decisions() -> None:
    index, decisions = DOCS / "index.md", DOCS / "decisions" / "index.md"
    reached = {
        (page.parent / link).resolve()
        for page in (index, decisions)
        for link in links(page.read_text("utf-8"))
    }

    assert decisions in {(DOCS / link).resolve() for link in links(index.read_text("utf-8"))}
    assert set(DOCS.rglob("*.md")) - reached == {index}


# Commands


def test_the_example_of_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    text = README.read_text("utf-8")
    (example,) = fenced(text, "python")
    (promised,) = re.findall(r"^It prints `([^`]+)`", text, re.MULTILINE)

    with Session(tmp_path) as session:
        session.write("words.py", example)
        runs = [session.run("python words.py") for _ in range(2)]

    assert runs == [(0, f"{promised}\n")] * 2


def test_the_example_of_the_readme_is_short() -> None:
    (example,) = fenced(README.read_text("utf-8"), "python")

    assert len([line for line in example.splitlines() if line]) <= 20


@pytest.mark.long
def test_the_lines_of_the_readme_over_http_take_an_upload_to_its_end(tmp_path: Path) -> None:
    upload, _ = readme_over_http()
    port = str(free_port())
    submit, rest = (
        upload.replace("8420", port).replace("up &", f"up --port {port} &").split("uploads\n", 1)
    )
    wait = next(line for line in rest.splitlines() if "?wait=" in line)

    with Session(tmp_path) as session:
        code, printed = session.run(f"({submit}uploads) 2> told")
        assert code == 0, printed
        (upload_id,) = re.findall(r'"upload_id":"(\w+)"', printed)
        ended = session.run(wait.replace("UL_…", upload_id).replace("curl", "curl -s"))

    assert '"status":"normalized"' in ended[1]


@pytest.mark.long
def test_the_lines_of_the_readme_about_webhooks_print_a_signed_message(tmp_path: Path) -> None:
    _, webhook = readme_over_http()
    port = str(free_port())
    add, rest = webhook.replace("9000", port).split("# shows the secret\n")
    (secret,) = re.findall(r"--secret (\S+)", rest)

    with Session(tmp_path) as session:
        added = session.run(add)[1]
        (shown,) = re.findall(r"whsec_\S+", added)
        rest = rest.replace(secret, shown).replace(" &  ", " > received &  ")
        code, printed = session.run(f"{rest}\nwait")
        received = (session.folder / "received").read_text("utf-8")

    assert code == 0, printed
    assert "upload.normalized" in received
    assert "signature right" in received


def readme_over_http() -> tuple[str, str]:
    """The two blocks of its section on HTTP, for any folder."""
    section = README.read_text("utf-8").split("\n## Over HTTP\n")[1].split("\n## ")[0]
    samples = "src/stateward/pipelines"
    first, second = (
        each.replace(".venv/bin/", "").replace(samples, str(ROOT / samples))
        for each in fenced(section, "sh")
    )
    return first, second


def worked(page: Path) -> ParameterSet:
    """A page as a case; those that start dozens of processes are left to `make test-long`."""
    is_long = "ledger" in page.stem or page.stem in LONG_PAGES
    marks = pytest.mark.long if is_long else ()
    return pytest.param(page, marks=marks, id=page.stem)


@pytest.mark.slow
@pytest.mark.parametrize("page", [worked(page) for page in WORKED if page.stem != SERVICE])
def test_a_page_can_be_worked_through(page: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        work_through(page, session)


@pytest.mark.service
def test_the_page_for_services_can_be_worked_through(postgres_url: str, tmp_path: Path) -> None:
    (page,) = (page for page in WORKED if page.stem == SERVICE)

    with Session(tmp_path, STATEWARD_STORE_URL=postgres_url) as session:
        work_through(page, session)


@pytest.mark.parametrize(
    "page", [page for page in WORKED if "ledger" in page.stem], ids=lambda page: page.stem
)
def test_every_command_of_a_runbook_is_run(page: Path) -> None:
    text = page.read_text("utf-8")
    run = [block.body for block in blocks(text) if block.kind == "run"]

    assert [each for each in fenced(text, "sh") if each not in run] == []


def work_through(page: Path, session: Session) -> None:
    printed = ""
    for block in blocks(page.read_text("utf-8")):
        place = f"{name_of(page)}:{block.line}"
        if block.kind == "file":
            session.write(block.argument, block.body)
        elif block.kind == "run":
            expected = int(block.argument.removeprefix("exit=") or 0)
            code, printed = session.run(block.body)
            assert code == expected, f"{place} ended with {code}:\n{printed}"
        else:
            is_so = session.is_printed(block.body, printed)
            assert is_so, f"{place} shows:\n{block.body}\nbut it printed:\n{printed}"


# Nothing is left out


def test_every_exception_is_explained() -> None:
    classes = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.StatewardError)
    ]

    page = reference("errors")
    assert [name for name in classes if named(name) not in page] == []


def test_every_code_of_a_record_is_explained() -> None:
    page = " ".join(reference(name) for name in ("errors", "contract-codes", "statement-codes"))
    page += " ".join(each.read_text("utf-8") for each in pages("pipelines"))
    found = set(codes())

    assert {"TIMEOUT", "CANCELLED", "WORKER_LOST", "TOO_MANY_ITEMS"} <= found
    assert sorted(code for code in found if named(code) not in page) == []


def codes() -> Iterator[str]:
    for package in PACKAGES_WITH_CODES:
        place = SOURCES / package
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            # Full of words of SWIFT, OFX and BMEcat; a test of statements looks at code="…" there.
            if "statements" in file.relative_to(SOURCES).parts or file.name == "bmecat.py":
                continue
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = node.value
                    if len(text) >= CODE_CHARS_MIN and CODE.fullmatch(text):
                        yield from {text} - NOT_CODES


def test_every_kind_of_event_is_explained() -> None:
    page = reference("events")
    machines = [
        each for found in discovery.installed_plugins() for each in discovery.machines(found.plugin)
    ]
    kinds = {kind for each in machines for edge in each.edges for kind in kinds_of(each, edge)}
    constants = {getattr(machine, name) for name in EVENT_CONSTANTS}

    assert sorted(kind for kind in kinds | constants if named(kind) not in page) == []


EVENT_CONSTANTS = (
    "RETRY_REQUESTED", "RETRY_DUE", "RETRIES_EXHAUSTED", "CANCEL_REQUESTED", "UPGRADED",
)  # fmt: skip


def kinds_of(owner: Machine, edge: machine.Edge) -> Iterator[str]:
    """`parse.completed` is a `<stage>.completed`; what a move is called is its own affair."""
    moves = {move.on for move in owner.moves}
    reviews = {review.name for review in owner.reviews}
    for event in edge.on:
        subject, _, verb = event.partition(".")
        if subject in owner.stage:
            yield f"<stage>.{verb}"
        elif subject in reviews:
            yield f"<review>.{'timed_out' if verb == 'timed_out' else '<answer>'}"
        elif event not in moves:
            yield event


def test_every_field_of_an_event_and_every_fate_of_one_is_explained() -> None:
    page = reference("events")
    names = [*(field.name for field in fields(model.Event)), *get_args(model.Reason)]

    assert [name for name in names if named(name) not in page] == []


def test_every_field_of_a_transition_and_of_a_lane_is_explained() -> None:
    page = reference("history")
    names = {field.name for field in fields(model.Transition)} | set(columns_of("lanes"))

    assert sorted(name for name in names if named(name) not in page) == []


def test_every_check_of_verify_is_explained() -> None:
    page = reference("history")
    checks = set(first_texts(SOURCES / "core" / "verify.py", "_finding"))

    assert "lane" in checks
    assert sorted(check for check in checks if named(check) not in page) == []


def first_texts(file: Path, function: str) -> Iterator[str]:
    """The first argument of every call of a function."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            first = node.args[0] if node.args else None
            if node.func.id == function and isinstance(first, ast.Constant):
                yield str(first.value)


def test_every_explanation_is_explained() -> None:
    page = (DOCS / "how-to" / "stuck-documents.md").read_text("utf-8")
    tree = ast.parse((SOURCES / "core" / "view.py").read_text("utf-8"))
    given = {
        keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }

    assert "no_worker" in given
    assert sorted(str(code) for code in given if named(str(code)) not in page) == []


RENAMED = re.compile(r"^ALTER (?:TABLE|INDEX) (\w+) RENAME TO (\w+)", re.MULTILINE)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_table_and_index_is_explained(engine: str) -> None:
    page = reference("database")
    made = re.findall(r"^CREATE (?:TABLE|(?:UNIQUE )?INDEX) (\w+)", schema(engine), re.MULTILINE)
    renamed = dict(RENAMED.findall(schema(engine)))
    dropped = set(re.findall(r"^DROP (?:TABLE|INDEX) (\w+)", schema(engine), re.MULTILINE))
    made = [renamed.get(name, name) for name in made if name not in dropped]

    assert {"records", "transitions", "records_waiting"} <= set(made)
    assert [name for name in made if named(name) not in page] == []


def test_every_column_of_a_record_is_explained() -> None:
    page = reference("database")

    assert [name for name in columns_of("records") if named(name) not in page] == []


def columns_of(table: str) -> list[str]:
    (body,) = re.findall(
        rf"^CREATE TABLE {table} \((.*?)^\)", schema("sqlite"), re.DOTALL | re.MULTILINE
    )
    return re.findall(r"^    (\w+) [A-Z]+", body, re.MULTILINE)


def schema(engine: str) -> str:
    files = sorted((SOURCES / "storage" / "migrations" / engine).glob("*.sql"))
    return "\n".join(file.read_text("utf-8") for file in files)


def test_every_key_of_a_declaration_is_explained() -> None:
    page = reference("machines")
    declared: list[type[Struct]] = [
        declare.MachineDeclared, declare.StateDeclared, declare.StageDeclared,
        declare.RouteDeclared, declare.ReviewDeclared, declare.MoveDeclared, declare.RetryDeclared,
    ]  # fmt: skip
    keys = {field.encode_name for each in declared for field in fields(each)}
    route = {"to", "when"}  # explained in one sentence: {to: state, when: guard}

    assert sorted(key for key in keys - route if named(key) not in page) == []
    assert all(f"{key}: " in page for key in route)
    assert [kind for kind in machine.KINDS if named(kind) not in page] == []


def test_every_fault_of_a_declaration_is_explained() -> None:
    page = reference("machines")
    told = list(sentences())

    assert len(told) > 25
    assert [sentence for sentence in told if longest_words(sentence) not in page] == []


def sentences() -> Iterator[list[str]]:
    """The sentences of all faults, each as the pieces between what is filled in."""
    tree = ast.parse((SOURCES / "definition" / "declare.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "self._fault":
            continue
        sentence = node.args[1]
        if isinstance(sentence, ast.Constant | ast.JoinedStr):
            constants = (each for each in ast.walk(sentence) if isinstance(each, ast.Constant))
            yield [str(piece.value) for piece in constants]


def longest_words(pieces: list[str]) -> str:
    return " ".join(max(pieces, key=len).split())


def test_every_option_and_every_refusal_of_a_pipeline_is_explained() -> None:
    page = reference("pipelines")
    options = [*StageOptions.__annotations__, *signature(Pipeline).parameters]
    files = [
        SOURCES / "workers" / f"{name}.py"
        for name in ("pipeline", "pipeline_parts", "signature", "items")
    ]
    told = [sentence for file in files for sentence in raised(file)]

    assert [name for name in options if name != "name" and named(name) not in page] == []
    assert len(told) > 20
    assert [sentence for sentence in told if longest_words(sentence) not in page] == []


def raised(file: Path) -> Iterator[list[str]]:
    """The sentences that a module refuses a pipeline with, each as the pieces between what is filled in."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in ("error", "fault", "refuse", "TypeError"):
            sentence = node.args[-1]
            if isinstance(sentence, ast.Constant | ast.JoinedStr):
                constants = (each for each in ast.walk(sentence) if isinstance(each, ast.Constant))
                yield [str(piece.value) for piece in constants]


def test_every_word_of_a_query_is_explained() -> None:
    page = reference("query")
    words = [*query.KEYS, *query.CLAIMS, *query.UNITS, *query.PRIORITY_CLASSES]

    assert [word for word in words if named(word) not in page] == []

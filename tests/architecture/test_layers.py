"""The layering holds: what no type checker sees, these tests read from the source itself."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "stateward"
TREES = ("src", "lab", "tests", "tools")
TEST_LINES_MAX = 500  # what is longer has several topics: split it by them

# Pieces, so that this file does not find itself.
REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
    )
)
TEXT_SUFFIXES = {
    "", ".cfg", ".css", ".html", ".in", ".ini", ".j2", ".js", ".json", ".md", ".py", ".pyi", ".sh",
    ".sha256", ".sql", ".toml", ".txt", ".typed", ".yaml", ".yml",
}  # fmt: skip

# Modules that can turn stored bytes into running code.
UNSAFE_IMPORTS = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle"}
UNSAFE_CALLS = {
    "eval", "exec", "builtins.eval", "builtins.exec", "os.system", "os.popen",
    "subprocess.getoutput", "subprocess.getstatusoutput",
    "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load",
}  # fmt: skip

# One of these stands in every module that could do so: the unsafe thing is imported, called, or given another name.
UNSAFE_WORDS = re.compile(
    rf"\b(?:{'|'.join(sorted(UNSAFE_IMPORTS))})\b|\bshell\s*=|\byaml\s*\.\s*load\b|\byaml\s+(?:import|as)\b"
    r"|\b(?:eval|exec|system|popen|getoutput|getstatusoutput|load_all|full_load|unsafe_load)(?:\s*\(|\s+as\b)"
)

# Whose business a transaction is. Everyone else asks the coordinator. (The ledger has files of its own, and a position
# in a topic of Kafka is no transaction.)
COMMITTERS = ("engine/coordinator.py", "storage/", "ledger/", "transport/kafka_member.py")

LOCKED = re.compile(r"[a-z0-9][a-z0-9.-]*==[0-9][0-9a-z.+!]*( ; [a-z_ '<>=!.0-9A-Z()]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def test_imports_only_go_down() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_coordinator_commits() -> None:
    offenders = [
        f"{module.relative_to(ROOT)}:{call.lineno} {ast.unparse(call.func)}"
        for module in modules("src")
        if not module.relative_to(PACKAGE).as_posix().startswith(COMMITTERS)
        if ".commit" in module.read_text("utf-8")
        for call in calls(module)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "commit"
    ]

    assert offenders == []


def test_no_stored_text_can_become_code() -> None:
    offenders = [
        f"{module.relative_to(ROOT)}:{line} {what}"
        for tree in TREES
        for module in modules(tree)
        for line, what in unsafe_places(module)
    ]

    assert offenders == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import os\nos.system('ls')",
        "from os import system\nsystem('ls')",
        "import os as o\no.system('ls')",
        "eval('1')",
        "exec('x = 1')",
        "import yaml\nyaml.load('a: 1')",
        "import yaml as y\ny.load('a: 1')",
        "from yaml import load as read\nread('a: 1')",
        "from builtins import exec as run\nrun('x = 1')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "import subprocess\nsubprocess.run('ls', shell=1 == 1)",
    ],
)
def test_the_search_for_unsafe_places_finds_them(tmp_path: Path, source: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(source)

    assert list(unsafe_places(module))


def test_no_file_names_a_registry() -> None:
    hosts = re.compile(rf"\b(?:{'|'.join(map(re.escape, REGISTRIES))})\b")
    offenders = [
        f"{path.relative_to(ROOT)} names {found.group()}"
        for path in text_files()
        for found in hosts.finditer(path.read_text(errors="replace"))
    ]

    assert offenders == []


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(module.relative_to(ROOT))
        for module in modules("src")
        if not module.read_text("utf-8").startswith(('"""', 'r"""'))
    ]

    assert silent == []


@pytest.mark.parametrize("name", ["run", "build", "dev", "docs", "bench"])
def test_a_lock_holds_only_versions_and_hashes(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()

    strange = [line for line in lines if not (LOCKED.fullmatch(line) or HASH.fullmatch(line))]
    bare = [
        line
        for line, following in zip(lines, (*lines[1:], ""), strict=True)
        if LOCKED.fullmatch(line) and not HASH.fullmatch(following)
    ]

    assert lines
    assert strange == []
    assert bare == [], "without a hash"


def test_the_dev_lock_includes_the_others() -> None:
    run, build, dev = (locked_packages(name) for name in ("run", "build", "dev"))

    assert run | build <= dev


def modules(tree: str) -> list[Path]:
    found = sorted((ROOT / tree).rglob("*.py"))
    assert found, f"there is no module in {tree}"
    return found


def text_files() -> Iterator[Path]:
    """Every file of the tree that a person may have written; what tools leave behind is hidden."""
    for top in ROOT.iterdir():
        if top.name.startswith(".") and top.name not in {".ci", ".editorconfig"}:
            continue  # an environment of tens of thousands of files, for one
        for path in [top, *top.rglob("*")]:
            if path.suffix in TEXT_SUFFIXES and path.is_file():
                yield path


@cache
def parse(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"), filename=str(module))


def calls(module: Path) -> list[ast.Call]:
    return [node for node in ast.walk(parse(module)) if isinstance(node, ast.Call)]


def dotted(node: ast.expr) -> str:
    """The dotted name of what is called; empty for what has none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def unsafe_places(module: Path) -> Iterator[tuple[int, str]]:
    if not UNSAFE_WORDS.search(module.read_text("utf-8")):
        return  # parsing every module would take ten seconds
    tree = parse(module)
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            origins = imported(node)
            aliases.update(origins)
            for origin in origins.values():
                if origin.split(".")[0] in UNSAFE_IMPORTS:
                    yield node.lineno, f"imports {origin}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, dot, rest = dotted(node.func).partition(".")
            name = aliases.get(first, first) + dot + rest
            if name in UNSAFE_CALLS:
                yield node.lineno, f"calls {name}"
            if any(
                keyword.arg == "shell" and not is_false(keyword.value) for keyword in node.keywords
            ):
                yield node.lineno, f"gives {name} a shell"


def imported(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Local names and what they stand for: `from os import system` gives system: os.system."""
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name: alias.name for alias in node.names}
    origin = node.module or ""
    return {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in node.names}


def is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def locked_packages(name: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return {re.split(r"[ ;]", line, maxsplit=1)[0] for line in lines if "==" in line[:60]}


def test_a_file_of_tests_is_about_one_topic() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines())
        for file in (ROOT / "tests").rglob("*.py")
    }

    assert [name for name, lines in lengths.items() if lines > TEST_LINES_MAX] == []

"""The words of the project are those of the glossary: retired names and house metaphors stay out.

A stranger reads code, messages, help and pages without a dictionary. Words are matched whole, whatever their case.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("src", "docs", "deploy", "examples", "tools", "changes")
CODE_AND_TESTS = (*OURS, "lab", "tests")
PAGES = ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml", "mkdocs.yml")
SUFFIXES = {
    ".css", ".html", ".js", ".md", ".mjs", ".py", ".service", ".sql", ".toml", ".yaml", ".yml", "",
}  # fmt: skip

# Retired everywhere, and what to write instead.
METAPHORS = {
    "doors?": "API, CLI, entry point",
    "desks?": "thread, executor, service",
    "porters?": "upload thread",
    "bells?": "wake-up",
    "crew": "thread pool",
    "drawers?": "saved values",
    "clockwork": "scheduler",
    "tally|tallies": "counters",
    "dice": "randomness, rng",
    "floor plan": "layout",
}
# Retired where users and readers meet them; tests may still hold them as data, such as the name of a missing record.
VAGUE = {
    "rooms?": "package, module, capacity, space",
    "nobody": "say who or what: no worker, no person",
    "somebody": "say who: a person, another process",
    "whoever": "the caller, the person who",
}
CLASSES = {
    "FarApp", "Clockwork", "Sequencing", "Hearing", "Asking", "Reception", "PipeBell",
    "PostgresBell", "LooseDrawer", "StageDrawer", "ImportDoor", "Letters", "Concerns", "Visits",
    "Tallies",
}  # fmt: skip
# A helper is named by what it does or gives, not by what was done to its argument: `_check`, not `_checked`.
PARTICIPLE = re.compile(
    r"_?(?:[a-z]+[^e]ed|kept|told|said|asked|given|shown|seen|made|found|left|heard|sent|known|held|drawn|begun|chosen)"
)
# Called when that has happened, as the library of Kafka names it; and a rule of a machine that is on.
HAPPENED = {
    "_assigned",
    "_committed",
    "_revoked",
    "_enabled",
    "_ragged",
    "_feed",
    "_embed",
    "embed",
}
# Retired from what people read on pages and in messages, and what to write instead.
PHRASES = {
    "its way": "state graph, history",
    "moved last": "recent activity",
    "(?<=>)(?:since|way)(?=<)": "started, waiting since; state graph",
    "taken in": "submitted",
    "sure to": "confidence 97 %",
    "decide in": "deadline",
    "waits since": "waiting since",
    "taken up by": "claimed by",
    r"\}\} waits?": "pending reviews",
    "for a person": "in review, needs a decision",
    "health: well": "healthy",
    "what came of it": "results",
    "about all of them": "summary",
    "what people did besides": "other actions by people",
    "what can be asked": "queries",
    "on (?:their|its) way": "in progress, queued",
    "nothing waits": "the queue is empty",
    "end within": "p95 duration",
    "driven from outside": "driven externally, run by an external driver",
    "it ended in": "finished:",
    "rested": "waited",
    "told of": "events",
    "what died": "failed deliveries",
    "could be carried": "no dead letters",
    "rests with an error": "failed",
    "look below": "problems found",
    "heard": "last heartbeat",
    "at work on": "current work",
    "leave it(?! out| empty)": "unclaim, skip",
    "take back": "undo",
    "(?:was )?here already": "duplicate",
    "there already": "duplicate",
    "sealed one to the other": "hash-chained",
    "mend the cause": "fix the cause",
    "no such thing": "not found",
    "cannot be right": "invalid",
    "foresaw": "unexpected error",
    "none of ours": "invalid",
}
# The words that a first reader of the console did not understand, as they stood there.
RETIRED = (
    "Its way", "<th>Way</th>", "Moved last", "<th>Since</th>", "Taken in", "sure to 97 %", "decide in 24 h",
    "Waits since", "Taken up by", "{{ n }} wait", "What came of it", "About all of them", "What people did besides",
    "What can be asked", "on their way", "for a person", "nothing waits", "95 % end within",
    "is driven from outside", "It ended in normalized", "worked 3 s / rested 226 ms", "Told of",
    "Replay what died", "Everything could be carried", "Nothing rests with an error", "health: well",
    "heard a moment ago", "At work on", "Leave it", "Take back", "was here already", "sealed one to the other",
    "mend the cause", "There is no such thing", "The request cannot be right", "an error that nobody foresaw",
    "none of ours",
)  # fmt: skip
# Docstrings that are shown: of the schemas in the description of the API, of the client in its reference.
DOCUMENTED = ("src/stateward/schemas/", "src/stateward/client/")
# Who acted is shown as people know them: `plain_actor` leaves out the kind and the key.
RAW_ACTOR = re.compile(
    r"\bby \{[a-z_.()]*actor\}|\bby \{metadata|\{[a-z_.()]*(?:actor|\.by)\} (?:is|has|holds|did|does|decided|asked)\b"
)
READ = (
    "console",
    "cli",
    "server",
    "app",
    "core",
    "engine",
    "notifications",
    "definition",
    "settings",
    "schemas",
    "monitoring",
    "pipelines",
    "ledger",
    "proofs",
    "workers",
)
# A migration that was released stays as it was, comments included, and so does a store that a released version wrote:
# the former names in them are history.
UNTOUCHED = (
    "src/stateward/storage/migrations/",
    "tests/storage/released/",
    "tests/architecture/test_vocabulary.py",
    # Words of documents in other languages: "vervangen door" is Dutch.
    "src/stateward/pipelines/statements/pdf/vocabulary.yaml",
)


@pytest.mark.parametrize("word", METAPHORS)
def test_a_house_metaphor_stays_out(word: str) -> None:
    assert places(word, CODE_AND_TESTS) == [], f"write {METAPHORS[word]}"


@pytest.mark.parametrize("word", VAGUE)
def test_a_vague_word_stays_out_of_what_people_read(word: str) -> None:
    assert places(word, OURS) == [], f"write {VAGUE[word]}"


def test_a_retired_phrase_stays_out_of_pages_and_messages() -> None:
    found = [
        f"{path}:{number}: {line[:90]}"
        for path, text in texts().items()
        if path.startswith(SHOWN) and may_hold_a_phrase(text)
        for number, line in messages(path, text)
        if RETIRED_PHRASE.search(" ".join(line.split()))
    ]

    assert found == [], "PHRASES says what to write instead"


@pytest.mark.parametrize("words", RETIRED)
def test_each_phrase_that_was_retired_would_be_found(words: str) -> None:
    first, _, rest = words.partition(" ")
    source = f'show("{first} "\n    f"{rest}")' if rest else f'show("{first}")'

    assert RETIRED_PHRASE.search(words)
    assert may_hold_a_phrase(words)
    assert may_hold_a_phrase(source)


def test_who_acted_is_shown_without_the_kind_and_the_key() -> None:
    found = [
        place
        for place, line in lines(("src",), having=("by {", "actor", ".by} "))
        if RAW_ACTOR.search(line)
    ]

    assert found == [], "show plain_actor(…)"


def test_a_docstring_is_a_message_only_where_it_is_shown_as_help() -> None:
    source = 'def f():\n    """Not this."""\n    return f"this {f} and" + "that"\n'

    assert [text for _, text in strings(source)] == [" and", "that", "this "]
    assert "Not this." in [text for _, text in strings(f"@command\n{source}")]


def test_a_retired_class_name_stays_out() -> None:
    pattern = re.compile(rf"\bclass (?:{'|'.join(sorted(CLASSES))})\b")

    found = lines(("src", "lab", "tests"), having=CLASSES)

    assert [place for place, line in found if pattern.search(line)] == []


def test_a_function_is_named_by_a_verb_or_a_noun() -> None:
    """Functions of a module, and private ones anywhere. A public method may say what it gives: `machine.tuned(...)`."""
    named = []
    for path, text in texts().items():
        if not (path.startswith("src/") and path.endswith(".py")):
            continue
        if not any(PARTICIPLE.fullmatch(name) for name in DEFINED.findall(text)):
            continue  # parsing every module takes seconds
        tree = ast.parse(text)
        named += [
            f"{path}:{each.lineno} {each.name}"
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            and (each in tree.body or each.name.startswith("_"))
            and PARTICIPLE.fullmatch(each.name)
            and each.name not in HAPPENED
            and not any("property" in ast.unparse(mark) for mark in each.decorator_list)
        ]

    assert named == []


def test_the_search_finds_a_word_and_not_a_part_of_one() -> None:
    found = {"a": "Doors are shut", "b": "an indoor scene", "c": "the door_of(x)"}

    assert [key for key, line in found.items() if pattern_of("doors?").search(line)] == ["a", "c"]


def places(word: str, trees: tuple[str, ...]) -> list[str]:
    pattern = pattern_of(word)
    found = lines(trees, having=[each.removesuffix("s?") for each in word.split("|")])
    return [f"{place}: {line.strip()[:90]}" for place, line in found if pattern.search(line)]


def may_hold_a_phrase(text: str) -> bool:
    """Whether a message of this file may hold a retired phrase, so that its strings are worth a look."""
    return bool(ANYWHERE.search(text.lower()))


def messages(path: str, text: str) -> Iterable[tuple[int, str]]:
    """What people are shown: every line of the pages and scripts of the console, and every string of our code."""
    if path.endswith(".py"):
        return strings(text, with_docs=path.startswith(DOCUMENTED))
    return enumerate(text.splitlines(), 1)


def strings(source: str, *, with_docs: bool = False) -> list[tuple[int, str]]:
    """The strings of a module with their lines, without docstrings; those of commands and routes are their help."""
    tree = ast.parse(source)
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    if with_docs:
        docs.clear()
    docs -= {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(isinstance(each, ast.Call | ast.Name) for each in node.decorator_list)
        and isinstance(node.body[0], ast.Expr)
    }
    found = [
        (each.lineno, each.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in docs
    ]
    return sorted(found)


def pattern_of(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])", re.IGNORECASE)


# A phrase wherever it stands in a source, its words in one string or in several beside each other.
RETIRED_PHRASE = pattern_of("|".join(PHRASES))
ANYWHERE = re.compile("|".join(PHRASES).replace(" ", r"(?:\\n|[\s\"'f])+"))
DEFINED = re.compile(r"\bdef +(\w+)")
SHOWN = (*(f"src/stateward/{tree}/" for tree in READ), "src/stateward/client/")


def lines(trees: tuple[str, ...], *, having: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Every line that a person of this project wrote, with its place, of files with one of these, in any case."""
    wanted = [each.lower() for each in having]
    for path, text in texts().items():
        if not (path.startswith(tuple(f"{tree}/" for tree in trees)) or path in PAGES):
            continue
        lowered = text.lower()
        if any(each in lowered for each in wanted):
            yield from (
                (f"{path}:{number}", line) for number, line in enumerate(text.splitlines(), 1)
            )


@cache
def texts() -> Mapping[str, str]:
    files = [ROOT / page for page in PAGES]
    for tree in CODE_AND_TESTS:
        files += [each for each in sorted((ROOT / tree).rglob("*")) if is_ours(each)]
    return {
        each.relative_to(ROOT).as_posix(): each.read_text("utf-8", errors="replace")
        for each in files
    }


def is_ours(file: Path) -> bool:
    path = file.relative_to(ROOT)
    if {"vendor", "samples", "__pycache__"} & set(path.parts):
        return False
    if path.as_posix().startswith(UNTOUCHED):
        return False
    return file.is_file() and file.suffix in SUFFIXES

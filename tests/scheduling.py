"""Which tests run together in one process of a run, and what its processes tell each other."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parent
# Files whose tests each stand alone and take long: each goes to whichever process is free.
SPREAD = ("tests/docs/test_docs.py", "tests/cli/test_contract.py")
# Files that share what takes long to make.
TOGETHER = ("tests/packaging/",)
# What takes longest begins first: nothing is worse than a file that begins when all others have ended.
FIRST = (
    "tests/packaging/", "tests/console/", "tests/docs/", "tests/faults/", "tests/lab/", "tests/app/", "tests/cli/",
    "tests/engine/", "tests/storage/", "tests/transport/", "tests/workers/", "tests/architecture/test_vocabulary.py",
    "tests/client/test_remote_cli.py", "tests/ledger/test_proof.py", "tests/server/test_kill.py",
    "tests/server/test_openapi.py", "tests/pipelines/contracts/test_clauses_by_type.py",
    "tests/pipelines/contracts/test_other_verticals.py", "tests/pipelines/contracts/test_stages.py",
    "tests/pipelines/contracts/test_through_the_app.py", "tests/pipelines/inspection/",
    "tests/pipelines/labs/test_pdf.py", "tests/pipelines/literature/", "tests/pipelines/statements/pdf/test_reading.py",
)  # fmt: skip


class ByFile(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """The tests of a file in one process, so that its service, browser or database is made once."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        if file in SPREAD:
            return nodeid
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    def add_node_collection(self, node: object, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Numbered(self.registered_collections[node])


class Numbered(list[str]):
    """Tests that know their places: each is looked up once, and there are thousands."""

    def __init__(self, tests: Sequence[str]) -> None:
        super().__init__(tests)
        self._places = {test: place for place, test in enumerate(tests)}

    def index(self, value: str, start: SupportsIndex = 0, stop: SupportsIndex = -1, /) -> int:
        return self._places[value]


def send_what_counts(config: pytest.Config) -> None:
    """Keep a process of a run from telling what nothing is done with: that a test begins, is set up and torn down.

    Of six messages a test these are three, and the process that gets them all spends most of its time with them.
    """
    option = config.option
    if option.verbose > 0 or option.durations is not None or option.xmlpath:
        return
    # Its class is not that of `xdist.remote`, whose source each process executes under another name.
    (interactor,) = (
        each for each in config.pluginmanager.get_plugins() if hasattr(each, "sendevent")
    )
    send = interactor.sendevent

    def send_if_it_counts(name: str, **told: Any) -> None:  # noqa: ANN401 - as given
        if name != "logstart" and not is_mere_progress(told.get("data")):
            send(name, **told)

    interactor.sendevent = send_if_it_counts


def is_mere_progress(report: dict[str, Any] | None) -> bool:
    """Whether it says only that a test, about which more is to come or was said, was set up or torn down."""
    return report is not None and report["outcome"] == "passed" and report["when"] != "call"


def scheduler(config: pytest.Config, log: object) -> ByFile | None:
    """The scheduler of `--dist loadfile`; another mode keeps its own."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def stagger(args: Sequence[str], *, number: int, count: int) -> list[str]:
    """What a process collects, begun elsewhere than the others: in a fresh clone each compiles what it comes to first.

    All processes of a run collect all tests at the same time. In the same order each would compile every module.
    """
    if [Path(each).resolve() for each in args] != [TESTS]:
        return [*args]
    folders = sorted(str(each) for each in TESTS.iterdir() if any(each.rglob("test_*.py")))
    first = len(folders) * number // count
    return [*folders[first:], *folders[:first]]


def align(items: list[pytest.Item]) -> None:
    """Bring tests into the order in which they are collected from one place, whatever a process began with."""
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0])


def leave_to_long(items: list[pytest.Item]) -> None:
    """Of many tests that are alike, those that are marked `sampled(every)`, keep each so-manieth for `make test`.

    It is always the same ones: what fails today is not passed over tomorrow.
    """
    seen: Counter[str] = Counter()
    for item in items:
        if (sampled := item.get_closest_marker("sampled")) is None:
            continue
        family = item.nodeid.partition("[")[0]
        if seen[family] % sampled.args[0]:
            item.add_marker("long")
        seen[family] += 1


def longest_first(items: list[pytest.Item]) -> None:
    """Order tests so that the longest files begin first; otherwise they stay as they are."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def name_apart(items: list[pytest.Item]) -> None:
    """Give every test an id of its own; a run in several processes takes those of one id for one test.

    schemathesis makes a test for each operation and names them all by their function.
    """
    for item in items:
        if label := getattr(item, "operation_label", None):
            item._id = item.id.with_params(label)  # pytest has no other way
    same = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if same:
        raise pytest.UsageError(f"several tests have the same id: {', '.join(sorted(same))}")

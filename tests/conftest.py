"""What every test may ask for. Servers come from `tests/servers.py`; this file only wires them."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from psycopg.conninfo import conninfo_to_dict

from lab.memory import memory_folder
from lab.postgres import Cluster, MissingPostgres, Server, cluster
from stateward.workers import fork_server, sdk
from tests.scheduling import (
    ByFile,
    align,
    leave_to_long,
    longest_first,
    name_apart,
    scheduler,
    send_what_counts,
    stagger,
)
from tests.servers import Run
from tests.sqlite_template import copies_of_a_template, migrated_each_time

RUN = pytest.StashKey[Run]()

# The plugin that shuffles tests also seeds generators of data that it finds installed. No test draws from those that
# dependencies brought; to load them takes each process of a run half a second, and to seed them each test its share.
with pytest.MonkeyPatch.context() as _patch:
    for _name in ("faker", "polyfactory"):
        _patch.setitem(sys.modules, _name, None)
    import pytest_randomly


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.register(pytest_randomly, "shuffling")


# `make test` draws the same examples every time: whoever changes a file must not be stopped by a rare fault of another.
# `make test-long` draws other ones, and more of them, on every run.
# A machine that is busy with other things draws slowly: neither that nor a slow example is a fault, nor is a folder
# that all examples of a test share. A test that names health checks of its own has these two again, so none does.
UNASKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
STEADY: Any = {"deadline": None, "suppress_health_check": UNASKED}
settings.register_profile(
    "same examples", max_examples=50, derandomize=True, database=None, **STEADY
)
settings.register_profile("other examples", max_examples=300, **STEADY)
settings.load_profile("same examples")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") is None:
        draw_nothing_from_the_code()
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    if handed is None:
        keep_files_in_memory()
        config.stash[RUN] = Run.begin()
    else:
        folder, controller = handed["run_folder"], handed["run_controller"]
        config.stash[RUN] = Run(Path(folder), controller=controller)
        number, count = int(handed["workerid"].removeprefix("gw")), handed["workercount"]
        config.args[:] = stagger(config.args, number=number, count=count)
        send_what_counts(config)


def draw_nothing_from_the_code() -> None:
    """Hypothesis draws the constants of the code under test too, of every module; it has no setting for that.

    Any change of the code would then be one of the examples. In a fresh clone each process of a run read all modules,
    which took it eight seconds.
    """
    providers._get_local_constants = lambda: providers._local_constants


def keep_files_in_memory() -> None:
    """Put the folders of tests where a sync costs nothing; $TMPDIR chooses another place, such as a real disk.

    Half of what tests wait for is that disk, and nothing that they kill takes the memory of the machine along.
    """
    if "TMPDIR" not in os.environ and (memory := memory_folder()) is not None:
        tempfile.tempdir = str(memory)
        os.environ["TMPDIR"] = tempfile.tempdir  # for the processes of the run


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 - xdist has no types
    run = node.config.stash[RUN]
    node.workerinput.update(run_folder=str(run.folder), run_controller=run.controller)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile | None:
    return scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests that stay until the end are not looked through for garbage: neither now nor while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of long tests alone, which cost much to collect, are not even opened where long tests are left out."""
    is_left_out = config.option.markexpr == "not long" and collection_path.stem.endswith("_long")
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Tests of such a file are long, whether each says so or not: else no command would run them."""
    align(items)
    for item in items:
        if item.path.stem.endswith("_long"):
            item.add_marker("long")
    leave_to_long(items)
    yield
    name_apart(items)
    longest_first(items)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and RUN in config.stash:
        config.stash[RUN].end()


# Hooks and no fixtures: one that every test has costs every test its share, and most tests need none of them.
@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """What a test declares inside a function ends with it, so that two tests of one process may use the same name."""
    for name, runner in [*sdk.registered_runners().items()]:
        if "<locals>" in getattr(runner.function, "__qualname__", ""):
            sdk._RUNNERS.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Iterator[None]:
    """A new store of SQLite is a copy of a template, as a new database of PostgreSQL is.

    Children have the reader of statements when they begin; those of `tests/workers` begin as where no test runs.
    """
    with pytest.MonkeyPatch.context() as patch, copies_of_a_template():
        loading = fork_server.BOOT.replace("from ", "import tests.preloaded; from ", 1)
        patch.setattr(fork_server, "BOOT", loading)
        return (yield)


@pytest.fixture
def no_copies() -> Iterator[None]:
    """For tests of how a store is made."""
    with migrated_each_time():
        yield


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Server:
    """The PostgreSQL that the whole run shares: make databases on it, but leave it running."""
    with skipped_if_missing():
        return pytestconfig.stash[RUN].postgres()


@pytest.fixture(scope="session")
def postgres_template(pytestconfig: pytest.Config, postgres_server: Server) -> str:
    """The name of a database with the present schema, to be copied, never to be connected to."""
    return pytestconfig.stash[RUN].template()


@pytest.fixture
def postgres_dsn(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """The address of a fresh database with the present schema, for one test alone."""
    name = postgres_server.create_database(postgres_template)
    yield postgres_server.dsn(name)
    postgres_server.drop_database(name)


@pytest.fixture
def postgres_url(postgres_dsn: str) -> str:
    """The same address as settings want it: a postgresql:// URL."""
    parts = conninfo_to_dict(postgres_dsn)
    where = {key: str(value) for key, value in parts.items() if key not in ("user", "dbname")}
    return f"postgresql://{parts['user']}@/{parts['dbname']}?{urlencode(where)}"


@pytest.fixture
def postgres_cluster(cluster_of_module: Cluster) -> Cluster:
    """A PostgreSQL for the tests of a file, to be killed and started again; each test finds it running."""
    if not cluster_of_module.is_running:
        cluster_of_module.start()
    return cluster_of_module


@pytest.fixture(scope="module")
def cluster_of_module() -> Iterator[Cluster]:
    yield from a_cluster()


@pytest.fixture
def fresh_cluster() -> Iterator[Cluster]:
    """A PostgreSQL for one test alone, to be broken, or without the roles that other tests leave in it."""
    yield from a_cluster()


def a_cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        with skipped_if_missing():
            server = stack.enter_context(cluster())
        yield server


@contextmanager
def skipped_if_missing() -> Iterator[None]:
    """Without PostgreSQL a test is skipped and says why; in CI it fails."""
    try:
        yield
    except MissingPostgres as missing:
        if os.environ.get("CI", "").lower() in {"true", "1"}:
            pytest.fail(f"CI must not skip: {missing}")
        pytest.skip(str(missing))

"""The PostgreSQL of the tests: one server for a whole run, one database for each test.

`$TEST_PG_DSN` names a server to use; otherwise the first test that asks starts one of our own
(`lab.postgres`). With xdist a run is several processes: they meet in a folder whose
name the controlling process hands them, where a file lock lets only one start the server. The
controlling process removes it, so a worker that is killed takes nothing with it.
"""

import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.postgres import Cluster, Server, guard


class Run:
    """What the processes of one test run share; `controller` is the process that outlives them."""

    def __init__(self, folder: Path, *, controller: int) -> None:
        self.folder = folder
        self.controller = controller

    @classmethod
    def begin(cls) -> "Run":
        folder = Path(tempfile.gettempdir()) / f"stateward-run-{uuid.uuid4().hex}"
        return cls(folder, controller=os.getpid())  # made once it is needed

    def postgres(self) -> Server:
        """The server of this run; the first who asks starts it."""
        if dsn := os.environ.get("TEST_PG_DSN"):
            return Server(dsn)
        return Cluster(Path(self._once("postgres", self._start_postgres)))

    def template(self) -> str:
        """The name of a migrated database to copy; the first who asks makes it."""
        return self._once("template", self._make_template)

    def end(self) -> None:
        """Take away everything that the run has made; the controlling process alone calls this."""
        template, cluster = self.folder / "template", self.folder / "postgres"
        if cluster.exists():
            Cluster(Path(cluster.read_text())).remove()
        elif template.exists():
            self.postgres().drop_database(template.read_text())
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_postgres(self) -> str:
        guard(self.folder, owner=self.controller)
        return str(Cluster.create(owner=self.controller).folder)

    def _make_template(self) -> str:
        from stateward.storage.postgres import migrate

        server = self.postgres()
        name = server.create_database()
        migrate(server.dsn(name))
        return name

    def _once(self, name: str, make: Callable[[], str]) -> str:
        """What `make` returned to the first process of the run that asked for `name`."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        answer = self.folder / name
        with _locked(self.folder / f"{name}.lock"):
            if not answer.exists():
                answer.write_text(make())
            return answer.read_text()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

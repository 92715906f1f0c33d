"""The loop of a child process, run in the process of the tests."""

import os
import socket
import struct
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from stateward.workers import child_main as inside
from stateward.workers import child_protocol as protocol
from stateward.workers import confinement, processes
from stateward.workers.child_imports import load, load_all
from stateward.workers.child_limits import AddressSpace
from stateward.workers.confinement import Grants
from stateward.workers.sdk import Limits, registered_runners
from tests.waiting import wait_until
from tests.workers.children import HOSTILE, with_path


@pytest.fixture
def no_end_of_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a job buries every child of its process: not of this one."""
    monkeypatch.setattr(inside, "after_job", lambda: True)


def served(
    order: protocol.Order, *chunks: bytes, scratch: Path, **faults: str
) -> list[protocol.Reply]:
    """What a child answers to one order."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for payload in (msgspec.json.encode(order), *chunks):
            ours.sendall(protocol.frame(payload))
        ours.shutdown(socket.SHUT_WR)
        inside.serve(
            inside.Channel(theirs),
            permitted(order.number),
            limits=Limits(),
            scratch=scratch,
            faults=faults,
            space=AddressSpace(),
            before_job=lambda order, limits: None,
        )
        theirs.shutdown(socket.SHUT_WR)
        answers = inside.Channel(ours)
        payloads = iter(answers.read, None)
        replies = [msgspec.json.decode(payload, type=protocol.Reply) for payload in payloads]
        return [timeless(reply) for reply in replies]


def timeless(reply: protocol.Reply) -> protocol.Reply:
    """The reply without how long the job took, which no test can know."""
    if isinstance(reply, protocol.Done | protocol.Fault):
        return replace(reply, seconds=0.0)
    return reply


def permitted(*numbers: int) -> inside.Permits:
    """Permits for these jobs, and no more."""
    reader, writer = os.pipe()
    for number in numbers:
        os.write(writer, number.to_bytes(protocol.PERMIT_BYTES, "big"))
    os.close(writer)
    return inside.Permits(reader)


def a_wire_order(runner: str, **inputs: int) -> protocol.Order:
    return protocol.Order(
        number=3, runner=runner, record_id="UL_1", stage="parse", attempt=1, retry_count=0,
        labels={}, artifact_path=None, inputs=inputs, timeout_s=5,
    )  # fmt: skip


@pytest.mark.usefixtures("no_end_of_job")
def test_the_loop_answers_an_order(tmp_path: Path) -> None:
    load(HOSTILE)

    replies = served(
        a_wire_order("good.copy", parse=2), b'[{"a":1}]', b'[{"a":2}]', scratch=tmp_path
    )
    failure = served(a_wire_order("bad.fatal"), scratch=tmp_path)
    unknown = served(a_wire_order("no.such"), scratch=tmp_path, mine="x\nImportError: y")

    assert replies == [
        protocol.Items(number=3, count=2, items=msgspec.Raw(b'[{"a":1},{"a":2}]')),
        protocol.Done(number=3, outcome="done", facts={}, count=2),
    ]
    assert isinstance(failure[0], protocol.Line)
    assert failure[1] == protocol.Fault(
        number=3, code="ENCRYPTED", message="page 3 is encrypted", is_retryable=False
    )
    assert isinstance(unknown[1], protocol.Fault)
    assert (
        unknown[1].message == "there is no runner 'no.such'; mine cannot be loaded: ImportError: y"
    )


@pytest.mark.usefixtures("no_end_of_job")
def test_a_channel_that_ends_in_the_middle_ends_the_loop(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(protocol.frame(b"cut off")[:-2])
        ours.shutdown(socket.SHUT_WR)

        assert inside.Channel(theirs).read() is None


def test_frames_of_any_length_come_whole_however_they_are_cut() -> None:
    frames = [b"short", b"", b"x" * 600_000, b"last"]
    data = b"".join(map(protocol.frame, frames))
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as sender:
        channel = inside.Channel(theirs)
        for part in (data[:2], data[2:7], data[7:]):
            sender.submit(ours.sendall, part)

        assert [channel.read() for _ in frames] == frames


def test_pipelines_are_loaded_as_far_as_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setitem(sys.modules, "__mp_main__", sys.modules["__main__"])
    (tmp_path / "broken.py").write_text(
        "from stateward.workers.sdk import runner\n"
        "runner('broken.half')(lambda job: LIMIT)\n"
        "raise SystemExit('no')  # before it defined LIMIT"
    )
    script = tmp_path / "script.py"
    script.write_text("NAME = __name__")
    hello = protocol.Hello(
        imports=("json", str(tmp_path / "broken.py"), str(tmp_path / "missing.py")),
        limits=Limits(),
        is_confined=False,
        grants=Grants(),
        main_path=str(script),
    )

    faults = load_all(hello)
    main = vars(sys.modules["__main__"])

    assert {Path(target).name for target in faults} == {"broken.py", "missing.py"}
    assert main["NAME"] == "__mp_main__"
    assert "broken.half" not in registered_runners()


def test_a_runner_is_alone_until_it_starts_something() -> None:
    script = "read go; sleep 60 & read go; kill $!; wait $!; read go"
    supervisor = ["sh", "-c", f"sh -c '{script}'; true"]

    with subprocess.Popen(supervisor, stdin=subprocess.PIPE, bufsize=0) as process:
        lone = processes.LoneRunner(process.pid)
        assert process.stdin is not None
        wait_until(lambda: lone.thread_count() == 1)
        process.stdin.write(b"go\n")
        wait_until(lambda: lone.thread_count() is None)
        process.stdin.write(b"go\n")
        wait_until(lambda: lone.thread_count() == 1)
        process.stdin.write(b"go\n")
        wait_until(lambda: lone.thread_count() is None)  # it is gone
        lone.close()


@pytest.mark.parametrize("has_files", [True, False])
def test_descendants_are_found_with_or_without_the_files_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch, *, has_files: bool
) -> None:
    monkeypatch.setattr(processes, "_HAS_CHILDREN_FILES", has_files)
    script = "import subprocess; subprocess.run(['sleep', '60'])"

    with subprocess.Popen([sys.executable, "-c", script]) as process:
        wait_until(lambda: processes.descendants(process.pid))
        killed = processes.kill_descendants(process.pid)

    assert killed == 1
    assert processes.descendants(process.pid) == []
    assert processes.thread_count(process.pid) == 0
    assert processes.LoneRunner(process.pid).thread_count() is None
    assert processes.thread_count(os.getpid()) >= 1
    assert sum(processes.tasks_of_user(os.getuid())) >= 1


@pytest.mark.parametrize("machine", sorted(confinement.CALLS))
def test_the_program_for_the_kernel_denies_what_it_should(machine: str) -> None:
    calls = confinement.CALLS[machine]
    (other,) = (each for name, each in confinement.CALLS.items() if name != machine)
    code = confinement.seccomp_code(calls, (calls.socket, *calls.others))

    def verdict(number: int, architecture: int = calls.architecture, argument: int = 0) -> int:
        return run_bpf(code, number=number, architecture=architecture, argument=argument)

    denied = [
        calls.socket,
        *calls.others,
        confinement.X32_CALLS,
        confinement.X32_CALLS + calls.socket,
    ]
    assert {verdict(number) for number in denied} == {confinement.SECCOMP_DENY}
    assert {verdict(number) for number in (0, 1, 42, 202, 424, 426)} == {confinement.SECCOMP_ALLOW}
    assert {verdict(number) for number in calls.pretended} == {confinement.SECCOMP_PRETEND}
    assert verdict(0, other.architecture) == confinement.SECCOMP_DENY
    assert verdict(confinement.CLONE3) == confinement.SECCOMP_UNKNOWN
    of_arguments = [(calls.clone, 0x1200011), (calls.limits, 0)]  # a fork; a limit of its own
    assert {verdict(number, argument=each) for number, each in of_arguments} == {
        confinement.SECCOMP_ALLOW
    }
    of_arguments = [(calls.clone, 0x10000011), (calls.limits, 4711)]
    assert {verdict(number, argument=each) for number, each in of_arguments} == {
        confinement.SECCOMP_DENY
    }


def run_bpf(code: bytes, *, number: int, architecture: int, argument: int) -> int:
    """The little of the kernel's machine that our programs use."""
    read = {
        confinement.BPF_AT_NUMBER: number,
        confinement.BPF_AT_ARCHITECTURE: architecture,
        confinement.BPF_AT_ARGUMENT: argument,
    }
    steps = list(struct.iter_unpack("=HBBI", code))
    at, value = 0, 0
    while True:
        operation, if_true, if_false, constant = steps[at]
        at += 1
        if operation == confinement.BPF_RETURN:
            return int(constant)
        if operation == confinement.BPF_LOAD:
            value = read[constant]
        elif operation == confinement.BPF_IF_EQUAL:
            at += if_true if value == constant else if_false
        elif operation == confinement.BPF_IF_ANY_BIT:
            at += if_true if value & constant else if_false
        else:
            at += if_true if value >= constant else if_false


@pytest.mark.parametrize("abi", range(1, confinement.landlock_abi() + 1))
def test_older_versions_of_landlock_confine_as_well(tmp_path: Path, abi: int) -> None:
    script = textwrap.dedent(f"""
        from pathlib import Path
        from stateward.workers import confinement
        confinement.landlock_abi = lambda: {abi}
        confinement.prctl(confinement.PR_SET_NO_NEW_PRIVS, 1)
        confinement.restrict_files(Path("scratch"), Path("input"), confinement.Grants())
        Path("scratch/fine").write_text("x")
        Path("/dev/null").write_text("x")
        Path("input/own").read_text()
        for way in (Path("new").touch, Path("victim").unlink, Path("folder").mkdir, Path("victim").read_text,
                    Path("input/own").unlink, lambda: Path("input/own").write_text("x"),
                    lambda: Path("victim").write_text("x")):
            try:
                way()
            except PermissionError:
                print("denied")
    """)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "own").write_text("mine")
    (tmp_path / "victim").write_text("precious")

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=with_path(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["denied"] * 7
    assert (tmp_path / "victim").read_text() == "precious"

"""The service as a process of its own: it says where it listens, stays small, and ends when it is told to."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from stateward.cli.up import _opened_alone
from stateward.settings import Settings
from tests import web
from tests.waiting import WAIT_S_MAX, wait_until

MIB = 1024 * 1024
LARGE = 96 * MIB


@contextmanager
def process(data: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that stays, and the address that it says."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("STATEWARD_")}
    command = [sys.executable, "-m", "stateward", "--data", str(data), *args]
    with subprocess.Popen(
        command, env=environ, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        said = re.search(r"at (http://\S+)", child.stderr.readline())
        try:
            yield child, said[1] if said else ""
        finally:
            child.kill()


def body() -> Iterator[bytes]:
    yield b'--x\r\nContent-Disposition: form-data; name="source_type"\r\n\r\nbank_csv\r\n'
    yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    piece = b"2026-01-02;-12,50;Coffee\n" * 2600
    for _ in range(LARGE // len(piece)):
        yield piece
    yield b"\r\n--x--\r\n"


@pytest.mark.long
def test_a_large_document_costs_no_memory(tmp_path: Path) -> None:
    with process(tmp_path / "data", "api", "--port", "0") as (child, url):
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        web.post(f"{url}/uploads", files={"file": b"a;b\n"}, data={"source_type": "bank_csv"})
        before = peak_bytes(child.pid)

        answer = web.post(f"{url}/uploads", content=body(), headers=headers)

        assert answer.status_code == 201, answer.text
        assert peak_bytes(child.pid) - before < 24 * MIB
        child.send_signal(signal.SIGTERM)
        assert child.wait(WAIT_S_MAX) == 0


def peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024


def test_the_api_alone_removes_copies_that_none_used_for_a_day(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(
        f"data: {tmp_path}/data\napi: {{port: 0}}\n"
        "artifacts: {url: 's3://bucket', endpoint: 'http://127.0.0.1:9'}\n"
    )
    unused, used = (tmp_path / "data/artifacts-cache" / each / (each * 32) for each in ("aa", "bb"))
    for each in (unused, used):
        each.parent.mkdir(parents=True)
        each.write_bytes(b"a document")
    os.utime(unused, (0, 0))

    with _opened_alone(Settings.load(config, environ={})):
        wait_until(lambda: not unused.exists())

    assert used.exists()


def test_up_serves_too_and_works_what_it_is_sent(tmp_path: Path) -> None:
    with process(tmp_path / "data", "up", "--port", "0") as (child, url):
        sent = web.post(
            f"{url}/uploads",
            files={"file": b"date;amount;text\n2026-01-02;-1,00;Tea\n"},
            data={"source_type": "bank_csv"},
        ).json()
        ended = web.get(f"{url}/uploads/{sent['upload_id']}?wait=30s").json()

        assert ended["status"] == "normalized"
        assert web.get(f"{url}/readyz").json()["status"] == "ready"
        child.send_signal(signal.SIGTERM)
        assert child.wait(WAIT_S_MAX) == 0


@pytest.mark.parametrize("role", ["api", "up"])
def test_an_open_address_is_refused_with_the_way_to_a_key(tmp_path: Path, role: str) -> None:
    done = refused(tmp_path, role, "--host", "0.0.0.0")  # noqa: S104 - that it is refused is the point

    assert "make one with `stateward key create NAME --role admin`" in done.stderr


@pytest.mark.parametrize("role", ["api", "up"])
def test_a_port_that_is_taken_ends_the_process(tmp_path: Path, role: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = refused(tmp_path, role, "--port", port)

    assert f"cannot listen at 127.0.0.1 port {port}" in done.stderr


def test_nothing_works_unheard_where_the_usual_port_is_taken(tmp_path: Path) -> None:
    usual = Settings.load(environ={}).api.port
    with ExitStack() as stack:
        with suppress(OSError):  # something else on this machine may have it already
            stack.enter_context(socket.create_server(("127.0.0.1", usual)))
        done = refused(tmp_path, "up")

    assert f"cannot listen at 127.0.0.1 port {usual}" in done.stderr


def refused(data: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    """A role that ends by itself, in a way that a service manager starts it again."""
    command = [sys.executable, "-m", "stateward", "--data", str(data), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S_MAX, check=False)
    assert done.returncode == 4
    return done

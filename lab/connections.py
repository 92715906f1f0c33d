"""Silent and slow clients beside honest ones: `make load-connections`.

It starts a service as `stateward up` does, holds many connections that say nothing, some that drip a byte a second and
some that ask for much and read none of it, uploads small statements at a steady rate meanwhile, and says how many were
taken, how long each took, and whether all have ended. Exit 1, with a sentence, if one was refused or lost, if the
service is gone, or if it was not in time.
"""

import argparse
import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from lab.bench.report import markdown, write_between
from stateward.console.static_files import static_base

BOUNDARY = "stateward-connections"
PLACE = "connections"  # the name of its markers in the page
# In time, on a machine with nothing else to do: the rate is kept, and who uploads waits no longer than this.
RATE_SHARE_MIN = 0.95
P99_MS_MAX = 2000.0
END_S = 120.0
SENDERS = 12
PIPELINED = 8
CONFIG = "data: {data}\napi: {{port: 0, rate_per_minute: 1000000, burst: 100000}}\n"
PART = '--{boundary}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it once, and print the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--slow", type=int, default=200)
    parser.add_argument("--unread", type=int, default=0)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--page", type=Path, help="The page whose figures are written anew.")
    asked = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="stateward-connections-") as folder:
        process, address = start(Path(folder))
        try:
            told = measure(address, asked)
            told["is_alive"] = process.poll() is None
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    text, wrong = results(told, asked), shortcomings(told)
    sys.stdout.write(f"{text}\n")
    if asked.page is not None:
        write_between(asked.page, PLACE, text)
    if wrong:
        sys.stderr.write(f"not met: {'; '.join(wrong)}\n")
    return 1 if wrong else 0


def shortcomings(told: dict[str, object]) -> list[str]:
    """What was not as it should be; empty if all was."""
    rate, p99_ms = told["uploads_per_s"], told["upload_ms_p99"]
    claims = (
        (told["is_alive"], "the service is gone"),
        (not told["refused"], f"{told['refused']} uploads were refused or had no answer"),
        (told["ended"] == told["sent"], f"{told['ended']} of {told['sent']} have ended"),
        (
            told["is_in_time"],
            f"not in time: {rate} uploads/s, p99 {p99_ms} ms; at least {RATE_SHARE_MIN:.0%} of the rate and at most "
            f"{P99_MS_MAX:g} ms are asked of a machine with nothing else to do",
        ),
    )
    return [said for is_so, said in claims if not is_so]


def results(told: dict[str, object], asked: argparse.Namespace) -> str:
    """Everything that stands between the markers of the page."""
    rows = (
        ("connections that say nothing", f"{asked.idle:,}"),
        ("connections that send a byte a second", f"{asked.slow:,}"),
        *([("connections that read no answer", f"{asked.unread:,}")] if asked.unread else []),
        (
            "uploads sent, refused, ended",
            f"{told['sent']}, {told['refused']}, {told['ended']}",
        ),
        ("uploads/s asked for", f"{asked.rate:g} for {asked.seconds:g} s"),
        ("uploads/s reached", f"{told['uploads_per_s']}"),
        ("`POST /uploads`", f"p50 {told['upload_ms_p50']} ms, p99 {told['upload_ms_p99']} ms"),
        ("the last ended after", f"{told['until_ended_s']} s"),
        ("load average, other programs included", f"{os.getloadavg()[0]:.1f}"),
        ("the aims below", "**missed**" if shortcomings(told) else "reached"),
    )
    return markdown(("", "measured"), rows)


def start(folder: Path) -> tuple[subprocess.Popen[bytes], tuple[str, int]]:
    """A service with the soft limit of open files that a shell has, and where it listens."""
    config = folder / "stateward.yaml"
    config.write_text(CONFIG.format(data=folder / "data"))
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "stateward", "up", "--config", str(config)],
        stdout=log,
        stderr=log,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    said = ""
    for _ in range(600):
        said = (folder / "log").read_text("utf-8", "replace")
        if "http://" in said:
            parts = urlsplit("http://" + said.partition("http://")[2].split()[0])
            return process, (str(parts.hostname), int(parts.port or 80))
        time.sleep(0.1)
    raise SystemExit(f"the service did not start: {said}")


def measure(address: tuple[str, int], asked: argparse.Namespace) -> dict[str, object]:
    """Hold the connections, send the uploads, and wait for their end."""
    large = f"GET {static_base()}/vendor/pdf.worker.min.mjs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    held = [_held(address, b"") for _ in range(asked.idle)]
    held += [
        _held(address, PIPELINED * large.encode(), unread_bytes_max=2048)
        for _ in range(asked.unread)
    ]
    slow = [
        _held(address, b"GET /records HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        for _ in range(asked.slow)
    ]
    begin = time.monotonic()

    def send(number: int) -> tuple[int, float]:
        time.sleep(max(0.0, begin + number / asked.rate - time.monotonic()))
        if number % int(asked.rate) == 0:
            for each in slow:
                with contextlib.suppress(OSError):
                    each.send(b"x")
        before = time.monotonic()
        return upload(address, number), 1000 * (time.monotonic() - before)

    with ThreadPoolExecutor(SENDERS) as senders:
        answers = list(senders.map(send, range(int(asked.rate * asked.seconds))))
    sending_s = time.monotonic() - begin
    times = [each for _, each in answers]
    refused = sum(status != 201 for status, _ in answers)
    sent = len(times) - refused
    ended = _ended(address, sent)
    for each in (*held, *slow):
        each.close()
    times.sort()
    rate, p99_ms = len(times) / sending_s, times[int(len(times) * 0.99)]
    return {
        "idle": asked.idle, "slow": asked.slow, "unread": asked.unread, "sent": sent,
        "refused": refused, "ended": ended,
        "uploads_per_s": round(rate, 1), "upload_ms_p50": round(times[len(times) // 2], 1),
        "upload_ms_p99": round(p99_ms, 1), "until_ended_s": round(time.monotonic() - begin, 1),
        "is_in_time": rate >= RATE_SHARE_MIN * asked.rate and p99_ms <= P99_MS_MAX,
    }  # fmt: skip


def upload(address: tuple[str, int], number: int) -> int:
    """Send a statement like no other; the status of the answer, 0 if there was none."""
    text = f"date;amount;text\n2026-01-02;-12,50;Coffee {number}\n"
    body = PART.format(boundary=BOUNDARY, name="source_type", more="", value="bank_csv")
    file = f'; filename="{number}.csv"'
    body += PART.format(boundary=BOUNDARY, name="file", more=file, value=text)
    body += f"--{BOUNDARY}--\r\n"
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    connection = http.client.HTTPConnection(*address, timeout=30)
    try:
        connection.request("POST", "/uploads", body.encode(), headers)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def _held(
    address: tuple[str, int], said: bytes, *, unread_bytes_max: int | None = None
) -> socket.socket:
    held = socket.socket()
    held.settimeout(30)
    if unread_bytes_max is not None:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, unread_bytes_max)
    held.connect(address)
    held.sendall(said)
    return held


def _ended(address: tuple[str, int], wanted: int) -> int:
    """How many have ended, once all have or the time is up."""
    ended, until = 0, time.monotonic() + END_S
    while ended < wanted and time.monotonic() < until:
        time.sleep(0.5)
        connection = http.client.HTTPConnection(*address, timeout=30)
        connection.request("GET", "/counts")
        told = json.loads(connection.getresponse().read())
        connection.close()
        ended = sum(each["count"] for each in told["items"] if each["status"] == "normalized")
    return ended


if __name__ == "__main__":
    sys.exit(main())

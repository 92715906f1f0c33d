"""`make load`: uploads over HTTP at a steady rate and all at once, on PostgreSQL, every role a process of its own.

It sends small statements, reads some of them meanwhile, waits until all have ended, and counts: what was lost, how long
each took from its arrival to its end, how long answers took, how much memory the processes needed. What it found goes
to a page of the documentation, as it was.
"""

import argparse
import http.client
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlencode

import msgspec
from psycopg.conninfo import conninfo_to_dict

from lab.postgres import cluster
from stateward.app import App
from stateward.settings import Settings

SENDERS = 12
LOOK_EVERY_S = 0.02
END_S = 600.0
FLAT_MIB = 32
BOUNDARY = b"stateward-load"
HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY.decode()}"}
SETTINGS = """profile: enterprise
data: data
store: {{url: "{url}"}}
worker: {{processes: {processes}}}
api: {{port: 0, rate_per_minute: 10000000, burst: 1000000}}
upload_record: {{logging: {{level: warning}}}}
"""


class Figures(msgspec.Struct, kw_only=True):
    """What was measured. A `rate` of 0 is a burst: as many as the API accepts."""

    rate: float
    count: int
    sent: int = 0
    refused: int = 0
    ended: int = 0
    failed: int = 0
    lost: int = 0
    sending_s: float = 0.0
    post_ms: list[float] = []
    get_ms: list[float] = []
    end_ms: list[float] = []
    memory_mib: dict[str, tuple[int, int]] = {}
    cpu_ms: dict[str, float] = {}


def run(*, rate: float, count: int, processes: int) -> Figures:
    """Send so many, at that rate, and count what becomes of them."""
    figures = Figures(
        rate=rate, count=count, post_ms=[], get_ms=[], end_ms=[], memory_mib={}, cpu_ms={}
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stateward-load-")))
        server = stack.enter_context(cluster(is_durable=True))
        config = folder / "stateward.yaml"
        url = _url(server.dsn(server.create_database()))
        config.write_text(SETTINGS.format(url=url, processes=processes))
        settings = Settings.load(config, environ={})
        with App(settings):
            pass  # the tables are there before the roles come
        roles = {
            role: stack.enter_context(_process(config, role))
            for role in ("api", "coordinator", "worker")
        }
        port = int(roles["api"][1].rpartition(":")[2])
        _wait_until_ready(port)
        before = {role: _memory_mib(child.pid) for role, (child, _) in roles.items()}
        spent = {role: _cpu_s(child.pid) for role, (child, _) in roles.items()}
        _send(figures, port)
        with App(settings) as app:
            _wait_until_ended(app, figures)
            _count(app, figures)
        figures.cpu_ms = {
            role: (_cpu_s(child.pid) - spent[role]) * 1000 / max(1, figures.sent)
            for role, (child, _) in roles.items()
        }
        figures.memory_mib = {
            role: (before[role], _memory_mib(child.pid, "VmHWM"))
            for role, (child, _) in roles.items()
        }
    return figures


def _url(dsn: str) -> str:
    parts = conninfo_to_dict(dsn)
    where = {key: str(value) for key, value in parts.items() if key not in ("user", "dbname")}
    return f"postgresql://{parts['user']}@/{parts['dbname']}?{urlencode(where)}"


@contextmanager
def _process(config: Path, role: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "stateward", "--config", str(config), role]
    log = config.parent / f"{role}.log"
    with log.open("w") as stream, subprocess.Popen(command, stderr=stream, text=True) as child:
        try:
            yield child, _address(log) if role == "api" else ""
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(30)


def _address(log: Path) -> str:
    deadline = time.monotonic() + 30
    while (said := re.search(r"at (http://\S+)\s", log.read_text())) is None:
        assert time.monotonic() < deadline, (
            f"the service does not say where it is: {log.read_text()}"
        )
        time.sleep(0.05)
    return said[1]


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + 30
    while _ask(port, "GET", "/readyz")[0] != 200:
        assert time.monotonic() < deadline, "the service is not ready"
        time.sleep(0.1)


def _ask(port: int, method: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


# Sending


def _send(figures: Figures, port: int) -> None:
    lock, ids, ending = threading.Lock(), list[str](), threading.Event()
    following = iter(range(figures.count))
    began = time.monotonic()

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                number = next(following, None)
            if number is None:
                return connection.close()
            if figures.rate:
                time.sleep(max(0.0, began + number / figures.rate - time.monotonic()))
            at = time.perf_counter()
            connection.request("POST", "/uploads", body=_form(number), headers=HEADERS)
            answer = connection.getresponse()
            document = answer.read()
            took = (time.perf_counter() - at) * 1000
            with lock:
                figures.post_ms.append(took)
                if answer.status == 201:
                    figures.sent += 1
                    ids.append(msgspec.json.decode(document)["upload_id"])
                else:
                    figures.refused += 1

    def look() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not ending.wait(LOOK_EVERY_S):
            if ids:
                at = time.perf_counter()
                connection.request("GET", f"/uploads/{ids[-1]}")
                connection.getresponse().read()
                figures.get_ms.append((time.perf_counter() - at) * 1000)
        connection.close()

    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    looker = threading.Thread(target=look)
    for thread in (*senders, looker):
        thread.start()
    for thread in senders:
        thread.join()
    figures.sending_s = time.monotonic() - began
    ending.set()
    looker.join()


def _form(number: int) -> bytes:
    rows = b"".join(
        b"2026-01-%02d;-%d,%02d;Shop %d\n" % (day, number % 997 + 1, day, number)
        for day in range(1, 11)
    )
    return (
        b'--%b\r\nContent-Disposition: form-data; name="source_type"\r\n\r\nbank_csv\r\n'
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%d.csv"\r\n\r\n'
        b"date;amount;text\n%b\r\n--%b--\r\n"
    ) % (BOUNDARY, BOUNDARY, number, rows, BOUNDARY)


# Counting


def _wait_until_ended(app: App, figures: Figures) -> None:
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        counts = app.store.counts()
        ended = sum(n for (_, status), n in counts.items() if status in ("normalized", "error"))
        if ended >= figures.sent:
            return
        time.sleep(0.5)


def _count(app: App, figures: Figures) -> None:
    counts = app.store.counts()
    figures.ended = counts.get(("upload", "normalized"), 0)
    figures.failed = counts.get(("upload", "error"), 0)
    figures.lost = figures.sent - sum(counts.values())
    found = app.database.rows(
        "SELECT t.at - r.created_at FROM transitions t JOIN records r ON r.id = t.record_id"
        " WHERE t.target = 'normalized'"
    )
    figures.end_ms = [int(str(took)) / 1000 for (took,) in found]


def _memory_mib(pid: int, what: str = "VmRSS") -> int:
    """Memory of a process: what it has, or (`VmHWM`) the most that it ever had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(what))) // 1024


def _cpu_s(pid: int) -> float:
    """Processor time of a process and of all below it, those that have ended included."""
    parents: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        own = int(stat.parent.name)
        parents.setdefault(int(fields[1]), []).append(own)
        times[own] = sum(int(each) for each in fields[11:15])
    ticks, left = 0, [pid]
    while left:
        one = left.pop()
        ticks += times.get(one, 0)
        left += parents.get(one, [])
    return ticks / os.sysconf("SC_CLK_TCK")


# Telling


def page(steady: Figures, burst: Figures | None) -> str:
    """The page of what was found."""
    load = os.getloadavg()
    return (
        "# Under load\n\n<!-- Made by `make load`; do not edit. -->\n\n"
        "`make load` sends small CSV statements (ten rows each) over HTTP to `stateward api`, with `stateward "
        "coordinator` and `stateward worker` beside it, each a process of its own, on a PostgreSQL of its own with "
        "full durability: first at a steady rate, then, on a fresh database, as many as the API accepts. Client, "
        "database and service share one machine.\n\n"
        f"This run: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; the load average "
        f"of the machine was {load[0]:.1f} at its end, other work included.\n\n"
        f"{_table(steady, burst)}\n\n{_verdict(steady, burst)}\n"
    )


def _table(steady: Figures, burst: Figures | None) -> str:
    columns = [_column(each) for each in (steady, burst) if each is not None]
    names = ["", "steady", "burst"][: len(columns) + 1]
    lines = [
        names,
        ["---"] * len(names),
        *([row, *(each[row] for each in columns)] for row in columns[0]),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _column(figures: Figures) -> dict[str, str]:
    memory = ", ".join(f"{role} {a} → {b}" for role, (a, b) in figures.memory_mib.items())
    cpu = ", ".join(f"{role} {each:.1f} ms" for role, each in figures.cpu_ms.items())
    rate = figures.sent / figures.sending_s
    asked = (
        f"{figures.rate:g} uploads/s for {figures.count / figures.rate:g} s" if figures.rate else ""
    )
    return {
        "asked for": asked or f"{figures.count:,} uploads at once, over {SENDERS} connections",
        "taken in": f"{figures.sent:,} in {figures.sending_s:.1f} s ({rate:.1f}/s)",
        "refused by the API": str(figures.refused),
        "ended `normalized`": f"{figures.ended:,}",
        "ended `error`": str(figures.failed),
        "lost": str(figures.lost),
        "from arrival to `normalized`": _spread(figures.end_ms),
        "`POST /uploads`": _spread(figures.post_ms),
        "`GET /uploads/{id}` meanwhile": _spread(figures.get_ms),
        "processor time an upload": cpu,
        "memory (MiB resident, before → most)": memory,
    }


def _verdict(steady: Figures, burst: Figures | None) -> str:
    """The aims, and whether this run met them."""
    aims = {
        "100 uploads/s for 60 s": steady.rate >= 100
        and steady.count >= 60 * steady.rate
        and steady.sent / steady.sending_s >= 99,
        "nothing lost, refused or failed": not any(
            (each.lost, each.refused, each.failed) != (0, 0, 0) for each in (steady, burst) if each
        ),
        "p99 from arrival to `normalized` under 5 s": _at(steady.end_ms, 0.99) < 5000,
        "p99 of `GET /uploads/{id}` under 25 ms": _at(steady.get_ms, 0.99) < 25,
    }
    if burst is not None:
        aims["10,000 uploads in a burst all end"] = burst.ended >= 10_000
        aims[f"memory stays flat: no process grows by more than {FLAT_MIB} MiB in the burst"] = all(
            most - before <= FLAT_MIB for before, most in burst.memory_mib.values()
        )
    lines = [
        f"- {aim}: {'met' if is_met else '**not met** by this run'}" for aim, is_met in aims.items()
    ]
    busy = sum(steady.cpu_ms.values()) * 100 / 1000
    return (
        "The aims, on two cores with nothing else to do:\n\n"
        + "\n".join(lines)
        + f"\n\nThe processor time of the three processes makes {busy:.1f} cores at 100 uploads/s, database aside."
    )


def _at(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "nothing measured"
    p50, p95, p99 = (_at(values, share) for share in (0.5, 0.95, 0.99))
    return f"p50 {p50:,.0f} ms, p95 {p95:,.0f} ms, p99 {p99:,.0f} ms, most {max(values):,.0f} ms"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Uploads at a steady rate, on PostgreSQL.")
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--burst", type=int, default=10_000, help="0 for none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    count = round(asked.rate * asked.seconds)
    steady = run(rate=asked.rate, count=count, processes=asked.processes)
    burst = run(rate=0.0, count=asked.burst, processes=asked.processes) if asked.burst else None
    text = page(steady, burst)
    if asked.page is not None:
        asked.page.write_text(text, "utf-8")
    sys.stdout.write(text)
    sys.exit(any(each.lost or each.refused for each in (steady, burst) if each is not None))


if __name__ == "__main__":
    main()

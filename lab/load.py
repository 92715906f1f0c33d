"""`make load`: uploads over HTTP at a steady rate and in a burst, on PostgreSQL, with one process for each role.

It uploads small statements, reads some of them meanwhile, waits until all have ended, and measures: records lost, time
from submission to end, response times, processor time and memory of each process, that of the worker's children and of
the database server apart. It prints the tables, and `--page` puts them between the markers of a page.
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

from lab.bench.report import bullets, check_places, markdown, write_between
from lab.postgres import cluster
from stateward.app import App
from stateward.settings import Settings

PLACE = "load"  # the name of its markers in the page
SENDERS = 12  # connections: enough to keep the API busy, few enough to leave the cores to it
READ_EVERY_S = 0.02
# Uploads before anything is counted: children start, modules are imported, plans are made.
WARM_UP = 60
END_S = 600.0  # what has not ended by then is reported as not ended
FLAT_MIB = 32  # caches and pools may fill; more than that in a burst of 10,000 would be a leak
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
    """The measurements. A `rate` of 0 is a burst: as many as the API accepts."""

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
    """Per upload, of each process; `children` are the worker's, `PostgreSQL` is the whole server."""


def run(*, rate: float, count: int, processes: int) -> Figures:
    """Upload `count` statements at `rate` a second, and measure."""
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
            pass  # migrates the database, so that the roles start on it
        roles = {
            role: stack.enter_context(_process(config, role))
            for role in ("api", "coordinator", "worker")
        }
        port = int(roles["api"][1].rpartition(":")[2])
        _wait_until_ready(port)
        pids = {role: child.pid for role, (child, _) in roles.items()}
        with App(settings) as app:
            _warm_up(app, port)
            before = {role: _memory_mib(pid) for role, pid in pids.items()}
            spent = _cpu_s(pids, server.pid)
            _send(figures, port)
            _wait_until_ended(app, figures.sent + WARM_UP)
            used = _cpu_s(pids, server.pid)
            _count(app, figures)
        figures.cpu_ms = {
            each: (used[each] - spent[each]) * 1000 / max(1, figures.sent) for each in used
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
    while (found := re.search(r"at (http://\S+)\s", log.read_text())) is None:
        assert time.monotonic() < deadline, f"the API did not print its address: {log.read_text()}"
        time.sleep(0.05)
    return found[1]


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + 30
    while _get_status(port, "/readyz") != 200:
        assert time.monotonic() < deadline, "the service is not ready"
        time.sleep(0.1)


def _get_status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def _warm_up(app: App, port: int) -> None:
    """Uploads that are not counted; they differ from all that are."""
    first = Figures(rate=0.0, count=WARM_UP, post_ms=[], get_ms=[])
    _send(first, port, number_from=-WARM_UP)
    assert first.sent == WARM_UP, f"only {first.sent} of {WARM_UP} uploads were accepted"
    _wait_until_ended(app, WARM_UP)


def _send(figures: Figures, port: int, *, number_from: int = 0) -> None:
    lock, ids, is_over = threading.Lock(), list[str](), threading.Event()
    numbers = iter(range(number_from, number_from + figures.count))
    began = time.monotonic()

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                number = next(numbers, None)
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

    def read() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not is_over.wait(READ_EVERY_S):
            if ids:
                at = time.perf_counter()
                connection.request("GET", f"/uploads/{ids[-1]}")
                connection.getresponse().read()
                figures.get_ms.append((time.perf_counter() - at) * 1000)
        connection.close()

    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    reader = threading.Thread(target=read)
    for thread in (*senders, reader):
        thread.start()
    for thread in senders:
        thread.join()
    figures.sending_s = time.monotonic() - began
    is_over.set()
    reader.join()


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


def _wait_until_ended(app: App, count: int) -> None:
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        counts = app.store.queries.counts()
        ended = sum(n for (_, status), n in counts.items() if status in ("normalized", "error"))
        if ended >= count:
            return
        time.sleep(0.5)


def _count(app: App, figures: Figures) -> None:
    counts = app.store.queries.counts()
    figures.ended = counts.get(("upload", "normalized"), 0) - WARM_UP
    figures.failed = counts.get(("upload", "error"), 0)
    figures.lost = figures.sent + WARM_UP - sum(counts.values())
    found = app.database.rows(
        "SELECT t.at - r.created_at FROM transitions t JOIN records r ON r.id = t.record_id"
        " WHERE t.target = 'normalized' ORDER BY r.created_at DESC LIMIT :count",
        count=max(0, figures.ended),
    )
    figures.end_ms = [int(str(took)) / 1000 for (took,) in found]


def _memory_mib(pid: int, what: str = "VmRSS") -> int:
    """Resident memory of a process: present (`VmRSS`) or the maximum so far (`VmHWM`)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(what))) // 1024


def _cpu_s(roles: dict[str, int], server: int) -> dict[str, float]:
    """Processor time so far: of each role alone, of the worker's children, of the database server with its own."""
    times, children = _processes()
    tick_s = 1 / os.sysconf("SC_CLK_TCK")

    def below(pid: int) -> float:
        """That of its children and theirs; of those that have ended, what their parent was told."""
        own = sum(below(each) + times[each][0] for each in children.get(pid, []) if each in times)
        return own + times.get(pid, (0.0, 0.0))[1]

    found = {role: times[pid][0] for role, pid in roles.items()}
    found["children"] = below(roles["worker"])
    found["PostgreSQL"] = times[server][0] + below(server)
    return {each: ticks * tick_s for each, ticks in found.items()}


def _processes() -> tuple[dict[int, tuple[float, float]], dict[int, list[int]]]:
    """Ticks of every process and of its ended children, and who is whose child."""
    times: dict[int, tuple[float, float]] = {}
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        own = int(stat.parent.name)
        children.setdefault(int(fields[1]), []).append(own)
        user, system, ended_user, ended_system = map(int, fields[11:15])
        times[own] = (user + system, ended_user + ended_system)
    return times, children


def results(steady: Figures, burst: Figures | None) -> str:
    """Everything that stands between the markers of the page."""
    facts = (
        f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; client, database "
        "and service share it",
        f"load average at the end: {os.getloadavg()[0]:.1f}, other programs included",
        f"the first {WARM_UP} uploads of each run are not counted",
        f"at 100 uploads/s the processes use {_total_ms(steady) * 100 / 1000:.1f} cores, without the database",
    )
    aims = markdown(("aim", "measured", ""), _aims(steady, burst))
    return "\n\n".join((bullets(facts), _table(steady, burst), aims))


def _table(steady: Figures, burst: Figures | None) -> str:
    columns = [_column(each) for each in (steady, burst) if each is not None]
    head = ["", "steady", "burst"][: len(columns) + 1]
    return markdown(head, [[row, *(each[row] for each in columns)] for row in columns[0]])


def _column(figures: Figures) -> dict[str, str]:
    memory = ", ".join(f"{role} {a} → {b}" for role, (a, b) in figures.memory_mib.items())
    cpu = ", ".join(f"{each} {took:.2f}" for each, took in figures.cpu_ms.items())
    rate = figures.sent / figures.sending_s
    asked = (
        f"{figures.rate:g} uploads/s for {figures.count / figures.rate:g} s" if figures.rate else ""
    )
    return {
        "requested": asked or f"{figures.count:,} uploads at once, over {SENDERS} connections",
        "accepted": f"{figures.sent:,} in {figures.sending_s:.1f} s ({rate:.1f}/s)",
        "refused": str(figures.refused),
        "ended `normalized`": f"{figures.ended:,}",
        "ended `error`": str(figures.failed),
        "lost": str(figures.lost),
        "from submission to `normalized`": _percentiles(figures.end_ms),
        "`POST /uploads`": _percentiles(figures.post_ms),
        "`GET /uploads/{id}` meanwhile": _percentiles(figures.get_ms),
        "CPU per upload (ms)": f"{cpu}; all but the database {_total_ms(figures):.2f}",
        "memory (MiB resident, before → maximum)": memory,
    }


def _aims(steady: Figures, burst: Figures | None) -> Iterator[tuple[str, str, str]]:
    """The aims on two otherwise idle cores, what this run found, and whether that is enough."""
    both = [steady] if burst is None else [steady, burst]
    amiss = sum(each.lost + each.refused + each.failed for each in both)
    rate = steady.sent / steady.sending_s
    is_full = steady.rate >= 150 and steady.count >= 60 * steady.rate
    end_ms, get_ms = (_quantile(each, 0.99) for each in (steady.end_ms, steady.get_ms))
    cpu_ms, total_ms = steady.cpu_ms, _total_ms(steady)
    jobs_ms = cpu_ms["worker"] + cpu_ms["children"]
    yield (
        "150 uploads/s for 60 s",
        f"{rate:.1f}/s",
        _word(is_full and rate >= 0.99 * steady.rate),
    )
    yield "nothing lost, refused or failed", f"{amiss}", _word(not amiss)
    yield "p99 to `normalized` under 2 s", f"{end_ms:,.0f} ms", _word(end_ms < 2000)
    yield "p99 of `GET /uploads/{id}` under 15 ms", f"{get_ms:,.0f} ms", _word(get_ms < 15)
    yield (
        "CPU per upload, without the database: at most 5 ms",
        f"{total_ms:.2f} ms",
        _word(total_ms <= 5),
    )
    yield "of it the API: at most 1.5 ms", f"{cpu_ms['api']:.2f} ms", _word(cpu_ms["api"] <= 1.5)
    yield "of it worker and children: at most 3 ms", f"{jobs_ms:.2f} ms", _word(jobs_ms <= 3)
    if burst is not None:
        rate = burst.sent / burst.sending_s
        grown = max(most - before for before, most in burst.memory_mib.values())
        yield "10,000 uploads in a burst all end", f"{burst.ended:,}", _word(burst.ended >= 10_000)
        yield "burst: at least 400 uploads/s accepted", f"{rate:.1f}/s", _word(rate >= 400)
        yield (
            f"burst: no process grows by more than {FLAT_MIB} MiB",
            f"{grown} MiB",
            _word(grown <= FLAT_MIB),
        )


def _word(is_reached: bool) -> str:
    return "reached" if is_reached else "**missed**"


def _total_ms(figures: Figures) -> float:
    """Processor time per upload of all our processes."""
    return sum(took for each, took in figures.cpu_ms.items() if each != "PostgreSQL")


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _percentiles(values: Sequence[float]) -> str:
    if not values:
        return "not measured"
    p50, p95, p99 = (_quantile(values, share) for share in (0.5, 0.95, 0.99))
    return f"p50 {p50:,.0f} ms, p95 {p95:,.0f} ms, p99 {p99:,.0f} ms, max {max(values):,.0f} ms"


def main() -> None:
    """Parse the options, run, print the tables."""
    parser = argparse.ArgumentParser(description="Uploads at a steady rate, on PostgreSQL.")
    parser.add_argument("--rate", type=float, default=150.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--burst", type=int, default=10_000, help="uploads at once; 0: none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.page is not None:
        check_places(options.page, PLACE)
    count = round(options.rate * options.seconds)
    steady = run(rate=options.rate, count=count, processes=options.processes)
    burst = (
        run(rate=0.0, count=options.burst, processes=options.processes) if options.burst else None
    )
    text = results(steady, burst)
    if options.page is not None:
        write_between(options.page, PLACE, text)
    sys.stdout.write(f"{text}\n")
    sys.exit(any(each.lost or each.refused for each in (steady, burst) if each is not None))


if __name__ == "__main__":
    main()

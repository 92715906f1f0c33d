"""`make load`: uploads over HTTP at a steady rate and in a burst, on PostgreSQL, with one process for each role.

It uploads small statements, reads some of them meanwhile, waits until all have ended, and measures: records lost, time
from submission to end, response times, processor time and memory of each process, that of the worker's children and of
the database server apart. The results become a page of the documentation, as they are.
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

from lab.connections import section_of, with_section
from lab.postgres import cluster
from stateward.app import App
from stateward.settings import Settings

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


WHERE = """## Where the time goes

Shares of processor time, by profiles of single processes under this load, not by this run.

The API: half is its event loop, a quarter the four threads that store documents, a fifth the writer, which commits
together what has come meanwhile, a sixteenth the thread that looks up the caller's key (1,574 samples by the kernel, 60
uploads/s; 74 % of them in the interpreter, 17 % in the kernel, and of the threads that store two fifths there). Of the
event loop, a quarter is HTTP itself with its system calls, another the routing, parameters and answers of the
framework; the rest is the loop's own work with the hand-overs between threads, and what is ours: the form, the rights,
the submission. Storing a document is two syncs, of its bytes and of the folder that names it: that is the price of
*answered means stored*. To store several documents in one thread with one sync of their folders could save a part of
that quarter at most. Names of files are text on that way and no longer paths: to store a document took 35 µs where it
took 55 (in memory, so without the syncs; three runs of each in turns, the least of seven times 1,000, load average 11).
On a file system of ext4 without a journal, as this machine has, the kernel looks at every inode that was deleted in the
last minutes, by whatever program, before it takes one for a new file: that took 8 µs in one folder and 480 in another,
and 44 % of the processor time of the threads that store, in a run in the latter. A document passes the event loop once
on its way to the disk and the database: the thread that stored it hands it to the writer itself. Changes that other
processes commit wake the loop only where a request waits
for one. Who asks for a record and the record itself are read in one go: in turns with the version before, on a busy
machine (80 uploads/s, load average 13, three runs each), `GET /uploads/{id}` took 8.6 ms where it took 11.4 (p50) and
33 where it took 76 (p99). The handler of a route is no longer copied for each request, which Litestar does for its
guards, and a document is looked at with fewer opened files and paths: the processor time of the API did not change by
more than the noise of that machine (3.68 and 3.76 ms).

By thread, an upload at 50 uploads/s, with 0.6 looks at a record for each (processor time as the kernel counts it, load
average 11): the event loop 1.63 ms, the writer 0.94, the four threads that store 0.67, the reader 0.25. It is not the
work alone: by itself (`stateward api` on SQLite in memory, 600 uploads and 600 looks, twice each), an upload cost the
API 2.60 and 2.18 ms over one connection and 1.48 and 1.41 over four, a look 1.65 and 1.57 ms and 0.78 and 0.93. Over
several, commits are shared, and threads sleep less often and find their caches warm; what each of these is worth was
not measured, but together they are much of why a burst costs less than a steady rate.

A request that gives none of the parameters of its route, as most, goes to the function of the route without the
framework's search for them, and an answer that is whole is sent as it is: in turns with the version before (as above,
four connections, four runs each of 800, load average 11, medians), the event loop took 0.57 ms for an upload where it
took 0.65, and 0.50 for a look where it took 0.57. Of 2,216 samples of the loop under uploads since then (those that
held the lock of the interpreter), the function of the route and the form are 29 %, HTTP on its way in 16 %, the answer
11 %, who may ask 8 %, the framework around them 6 to 7 %.

Children ran at nice 5 for an hour, so that they gave way to the API. In turns on a machine with other programs
at work (bursts of 1,500, load average 6 to 20) 165 uploads/s were accepted where it were 123; on quiet cores it
was nothing (251 and 260 in bursts of 2,000), and where other programs want the cores, jobs get less of them. So
it was taken back.

In the evening of 2026-11-19 the same kind of machine was slower by a third and more (PostgreSQL took 3.4 ms for
an upload where it took 2.7): 150/s were more than its two cores could do. All were accepted (149.4/s) and all
ended, at 11.1 ms of processor time each, p99 of the end 13 s. At 130/s it was 0.5 s, and 0.2 s with the code of
that morning, in another minute.

Who was let in before begins at once with a small document, and the database is asked again who asks in the transaction
that writes its record: a revoked key is refused from the next request on as before, without a thread and a round trip
of its own for each upload. While documents are being stored, the writer waits up to 5 ms for them, so that one commit,
one wake-up and one turn of the coordinator serve several; who sends one document after the other never waits.
In turns with the version before, on a busy machine (150 uploads/s, load average 20), the API took 2.51 ms where it took
2.78, and PostgreSQL 1.85 where it took 1.95. Who asks for a record and the record travel to the database
together where the caller was let in before: `GET /uploads/{id}` took 21 ms where it took 24 (p99; load average 17).
With several jobs in flight a turn of the loop serves what has come in 40 ms, not 20: the coordinator took 0.67 ms where
it took 0.88, the worker 1.10 where it took 1.24, PostgreSQL 1.60 where it took 1.95.

What was tried: a file without a name until it is linked, or a rename instead of a link, saves an eighth of the storing
at most and is not to be had on every file system; ten threads for storing instead of four, uvloop, head and body of an
answer in one system call, and threads that take turns more often than every 5 ms changed nothing that could be told
from noise. A commit of uploads at most every 20 or 40 ms showed no gain either (70 uploads/s, one run each: the API
2.65 and 2.49 ms, without 2.40 and 2.75), but on a busy machine, where many uploads share a commit anyway; it may be
worth another look on a quiet one. Nor did it show to put off a commit by up to 20 ms until half as many documents had
come as were under way at once lately (90 uploads/s, four runs each in turns, load average 13 to 16: 6.95 and 6.95 ms
of all processes, medians), for the same reason. Not tried, because it would weaken what is promised: to remember for a
second that a key is valid (a revoked key is refused from the next request on), and one sync instead of two.

The children: of what the two stages of a ten-row CSV take, four fifths is `parse`, spread over a hundred small
decisions (encoding, delimiter, headings, order of dates, decimal sign, sign, profile of the bank); the largest of them,
the delimiter, takes an eighth. Beside the stages there is the traffic with the worker. To ask a row once whether any
cell ends with a part of a day, and a cell once whether it is an amount: `parse` took 2.96 ms where it took 3.31 (median
of 11 runs of each, in turns, 150 documents each, load average 14 to 18). A profiler that counts calls had said two
fifths; by processor time it is a tenth. Collecting garbage, 0.13 times for an upload, is not worth a setting. A
document whose source type is named is not asked how surely it is one: the API took 26 and 29 µs where it took 117. By
8,855 samples of `parse` alone, trying the head of the table in each of its possible forms took 22 %, because each of
eight forms asked every cell of every row what it may head, which takes regular expressions and a search for similar
words; now headings are looked for once, among the rows that are no bookings, and it takes 5 % of less. With that, and
with balances, odd rows and votes of words looked for only where there can be some, `parse` took 2.42 ms where it took
3.13 (median of 4 runs of each, in turns, 750 documents each, load average 22). In `make load` at 40 uploads/s, load
average 21 to 27, the children took 3.28 and 3.45 ms in two runs, where one run of the version before took 4.03; other
runs did not start in time on that machine. What is left of `parse` (8,695 samples, before the last of these): columns
15 %, order of dates, decimal sign and sign 21 %, totals 9 %, delimiter 9 %, opening and encoding 8 %, rows 6 %, log
lines 4 %. Of its processor time 3 % is spent in the kernel and 90 % in the interpreter; what it decides on single cells
is remembered already. Since then a day is asked first whether it has the
most frequent form, an amount of one or two decimals is known by its shape, and whether a cell is a date is remembered
and not only why: `parse` took 1.96 ms where it took 2.02 (medians of 150 times ten documents each, in turns, twice,
load average 12; over 400,000 texts made at random all answers are the same).
A text of ASCII without a letter is not asked for the name of a month, figures with nothing around them not for a
currency, and whether a cell denies a booking is remembered: `parse` took 3.40 ms where it took 3.71, at best 1.57
where it took 1.81 (medians of six runs of each, in turns, 400 documents each, load average 15; the same rows, notes
and log lines over 227 files and 2,500 statements made at random). Of 1,731 samples of a child that was not waiting,
three quarters are in the two stages and what collects their items; sending answers is 7 % of all, and reading orders 5
%. Without any collection of garbage `parse` took as long (2.30 and 2.27 ms, medians of three runs).

The worker: a sixth was the log lines of the two stages, each cleaned twice, once by the child and once more because a
child is not trusted; a tenth were announcements of its slots, 160 in 800 uploads, because the mean time of jobs
changes with each: now it tells when they have doubled or halved (76), and cleans only what can need it. In the same
runs 2.00 → 1.82 ms, before the log lines. A sixth was to put the document of each stage where the child may read it,
and to compare it with its hash; the comparison opens the file once, without asking before whether it is there and
without a buffer of its own, which takes 26 µs of CPU where it took 52 (median of 5 runs of each, in turns, load
average 22).

The coordinator: a fifth was the indexer of searches (364 samples), which asked three queries for each output and
committed every 50 ms. Now it asks for sixteen outputs at once, and under load a step follows the last after 200 ms. By
itself, on a busy machine (300 outputs of ten lines, PostgreSQL, three runs of each in turns, the least of them): an
output took 0.24 ms where it took 0.33 with sixteen in a step; with three in a step, as many as came in 50 ms, it took
0.65. PostgreSQL took 0.5 beside it, with three in a step 0.9. In `make load` itself the change was within the noise of
that machine (70 uploads/s, medians of three runs: coordinator 0.96 and 0.88 ms, PostgreSQL 2.32 and 2.21).
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


def page(steady: Figures, burst: Figures | None) -> str:
    """The page with the results."""
    load = os.getloadavg()
    return (
        "# Load test\n\n<!-- Made by `make load`; do not edit. -->\n\n"
        "`make load` sends small CSV statements (ten rows each) over HTTP to `stateward api`, with `stateward "
        "coordinator` and `stateward worker` as separate processes, on a separate PostgreSQL with full durability: "
        "first at a steady rate, then, on a new database, as many as the API accepts. Client, database and service "
        "share one machine.\n\n"
        f"The first {WARM_UP} uploads of each run are not counted. This run: "
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; the load average "
        f"of the machine was {load[0]:.1f} at the end, other programs included.\n\n"
        f"{_table(steady, burst)}\n\n{_targets(steady, burst)}\n\n{WHERE}"
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
        "processor time per upload (ms)": f"{cpu}; all but the database {_total_ms(figures):.2f}",
        "memory (MiB resident, before → maximum)": memory,
    }


def _targets(steady: Figures, burst: Figures | None) -> str:
    """The targets, and whether this run met them."""
    worker = steady.cpu_ms["worker"] + steady.cpu_ms["children"]
    targets = {
        "150 uploads/s for 60 s": steady.rate >= 150
        and steady.count >= 60 * steady.rate
        and steady.sent / steady.sending_s >= 0.99 * steady.rate,
        "nothing lost, refused or failed": not any(
            (each.lost, each.refused, each.failed) != (0, 0, 0) for each in (steady, burst) if each
        ),
        "p99 from submission to `normalized` under 2 s": _quantile(steady.end_ms, 0.99) < 2000,
        "p99 of `GET /uploads/{id}` under 15 ms": _quantile(steady.get_ms, 0.99) < 15,
        "at most 5 ms of processor time per upload, without the database": _total_ms(steady) <= 5,
        "at most 1.5 ms of it in the API": steady.cpu_ms["api"] <= 1.5,
        "at most 3 ms of it in the worker and its children": worker <= 3,
    }
    if burst is not None:
        targets["10,000 uploads in a burst all end"] = burst.ended >= 10_000
        targets["at least 400 uploads/s are accepted in the burst"] = (
            burst.sent / burst.sending_s >= 400
        )
        targets[f"no process grows by more than {FLAT_MIB} MiB in the burst"] = all(
            most - before <= FLAT_MIB for before, most in burst.memory_mib.values()
        )
    lines = [
        f"- {target}: {'met' if is_met else '**not met** in this run'}"
        for target, is_met in targets.items()
    ]
    busy = _total_ms(steady) * 100 / 1000
    return (
        "The targets, on two otherwise idle cores:\n\n"
        + "\n".join(lines)
        + f"\n\nAt 100 uploads/s the processes use {busy:.1f} cores, without the database."
    )


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
    """Parse the options, run, print the page."""
    parser = argparse.ArgumentParser(description="Uploads at a steady rate, on PostgreSQL.")
    parser.add_argument("--rate", type=float, default=150.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--burst", type=int, default=10_000, help="uploads at once; 0: none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    count = round(options.rate * options.seconds)
    steady = run(rate=options.rate, count=count, processes=options.processes)
    burst = (
        run(rate=0.0, count=options.burst, processes=options.processes) if options.burst else None
    )
    text = page(steady, burst)
    if options.page is not None:
        before = options.page.read_text("utf-8") if options.page.exists() else ""
        options.page.write_text(with_section(text, section_of(before)), "utf-8")
    sys.stdout.write(text)
    sys.exit(any(each.lost or each.refused for each in (steady, burst) if each is not None))


if __name__ == "__main__":
    main()

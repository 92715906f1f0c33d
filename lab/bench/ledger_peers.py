"""What other packages take for the ledger's work, in a Python of their own: a job comes in, a reading goes out.

It runs as a script with a Python that may have none of our packages, so it uses the standard library and, by name,
what is measured: LMDB, and logs that keep a hash chain in JSON lines. What is not installed is left out.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

MIXER = 7919
MAP_BYTES = 8 << 30


def main() -> None:
    """Measure what the argument asks for: which documents, groups and records, and where."""
    job = json.loads(sys.argv[1])
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever a package prints goes to stderr
    found: dict[str, Any] = {}
    for name, measure in (("lmdb", lmdb), ("orjson", orjson), ("chained", chained)):
        try:
            found[name] = measure(job)
        except ImportError:
            found[name] = None
    os.write(answer, json.dumps(found).encode() + b"\n")


def lmdb(job: dict[str, Any]) -> dict[str, Any]:
    """A log and a state database in one environment, each commit synced; opening and gets over all documents."""
    module = import_module("lmdb")
    folder, documents = Path(job["folder"]), job["documents"]
    big = module.open(str(folder / "big"), map_size=MAP_BYTES, max_dbs=2)
    kept = json.dumps(
        {"state": "parsed", "updated_at": 1759536000.25, "adapter": "pubmed"}
    ).encode()
    with big.begin(write=True) as txn:
        for number in range(documents):
            txn.put(b"doc:%09d" % number, kept, append=True)
    ids = [b"doc:%09d" % (number * 7_368_787 % documents) for number in range(job["gets"])]

    def gets() -> None:
        with big.begin() as txn:
            for each in ids:
                json.loads(txn.get(each))

    got = _cpu(gets, 5) / len(ids)
    big.close()

    def opened() -> None:
        env = module.open(str(folder / "big"), map_size=MAP_BYTES, readonly=True)
        with env.begin() as txn:
            txn.get(ids[0])
        env.close()

    env = module.open(str(folder / "append"), map_size=MAP_BYTES, max_dbs=2)
    log, state = env.open_db(b"log"), env.open_db(b"state")
    taken = {}
    seq = 0
    for lines, commits in job["groups"]:
        walls = []
        for _ in range(commits):
            start = time.perf_counter()
            with env.begin(write=True) as txn:
                for _ in range(lines):
                    name = b"doc:%09d" % (seq * MIXER % job["in_flight"])
                    found = txn.get(name, db=state)
                    text = {"doc_id": name.decode(), "old_state": found and found.decode(), "new_state": "fetching",
                            "timestamp": 1759536000.25, "adapter": "pubmed"}  # fmt: skip
                    seq += 1
                    txn.put(b"%020d" % seq, json.dumps(text).encode(), db=log, append=True)
                    txn.put(name, b"fetching", db=state)
            walls.append(time.perf_counter() - start)
        taken[str(lines)] = median(walls)
    env.close()
    return {
        "open_s": _cpu(opened, 20),
        "get_s": got,
        "commit_s": taken,
        "version": module.__version__,
    }


def orjson(job: dict[str, Any]) -> dict[str, float]:
    """A whole snapshot into a dict, and back; without the collector, which would only slow it down."""
    module = import_module("orjson")
    text = Path(job["snapshot"]).read_bytes()
    gc.disable()
    start = time.process_time()
    value = module.loads(text)
    loaded = time.process_time()
    module.dumps(value)
    return {"load_s": loaded - start, "dump_s": time.process_time() - loaded}


def chained(job: dict[str, Any]) -> dict[str, float]:
    """CPU seconds of one record in logs that keep a chain, nothing synced, each in its quickest way."""
    folder, found = Path(job["folder"]), dict[str, float]()
    for name, measure in (("tamperloom", _tamperloom), ("auditchain", _auditchain)):
        try:
            found[name] = measure(folder, job["records"])
        except ImportError:
            continue
    return found


def _tamperloom(folder: Path, records: int) -> float:
    log = import_module("tamperloom").AuditLogger(str(folder / "tamperloom.jsonl"))
    start = time.process_time()
    for number in range(records):
        log.log(
            event_type="move", actor="pubmed", action="fetching", target=f"doc:{number:09d}",
            metadata={"old_state": "pending", "duration_seconds": 1.5},
        )  # fmt: skip
    return (time.process_time() - start) / records


def _auditchain(folder: Path, records: int) -> float:
    module = import_module("auditchain")
    log = module.SyncAuditLog(module.JsonlBackend(str(folder / "auditchain.jsonl")))
    facts = {"old_state": "pending", "duration_seconds": 1.5}
    moves = [("pubmed", "fetching", f"doc:{number:09d}", facts) for number in range(records)]
    start = time.process_time()
    log.append_many(moves)
    taken = (time.process_time() - start) / records
    log.close()
    return taken


def _cpu(call: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return median(taken)


if __name__ == "__main__":
    main()

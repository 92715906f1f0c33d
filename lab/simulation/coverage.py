"""What a run of seeds saw: counts of faults, crashes and violations, and which pairs and triples were met."""

from collections import Counter
from collections.abc import Iterable, Iterator

from lab.simulation.plan import Fault, covering_list
from lab.simulation.run import Report
from stateward.core.failpoints import Point

MISSING_MAX = 20


class Coverage:
    """Sums over histories. A triple is met when a fault struck a record in a state, and a crash came after it."""

    def __init__(self) -> None:
        self.histories = 0
        self.steps = 0
        self.transitions = 0
        self.hits = 0
        self.foreseen = self.refused = 0
        self.faults: Counter[str] = Counter()
        self.crashes: Counter[str] = Counter()
        self.violations: list[tuple[int, str]] = []
        self.reached: set[str] = set()
        self.entered: set[str] = set()
        self._struck: set[tuple[str, ...]] = set()
        self._cut: set[tuple[str, ...]] = set()
        self._triples: set[tuple[str, ...]] = set()

    def add(self, report: Report) -> None:
        """Count one more history."""
        self.histories += 1
        self.steps += report.steps
        self.transitions += report.transitions
        self.hits += report.is_hit
        self.foreseen += report.foreseen
        self.refused += report.refused
        self.faults.update(report.faults)
        self.crashes.update(report.crashes)
        self.violations += [(report.plan.seed, str(each)) for each in report.violations]
        self.reached.update(report.reached)
        self.entered.update(report.entered)
        self._struck.update(report.struck)
        self._cut.update(report.cut)
        self._triples.update(report.triples)

    def kinds(self) -> Iterator[tuple[str, list[tuple[str, ...]], int]]:
        """Each kind of coverage: its name, what is missing of it, and how much is possible."""
        states = sorted({f"{aim.machine}.{aim.state}" for aim in covering_list()})
        faults = [fault.name for fault in Fault]
        points = [point.label for point in Point]
        pairs = [(state, fault) for state in states for fault in faults]
        yield "state and fault", _missing(pairs, self._struck), len(pairs)
        cuts = [(state, point) for state in states for point in points]
        yield "state and crash point", _missing(cuts, self._cut), len(cuts)
        triples = [(*pair, point) for pair in pairs for point in points]
        yield "state, fault and crash point", _missing(triples, self._triples), len(triples)

    def as_json(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "histories": self.histories,
            "steps": self.steps,
            "transitions": self.transitions,
            "aims_met": self.hits,
            "turns_foreseen": self.foreseen,
            "turns_decided_anew": self.refused,
            "faults": dict(sorted(self.faults.items())),
            "crashes": dict(sorted(self.crashes.items())),
            "coverage": {
                name: {
                    "seen": possible - len(missing),
                    "possible": possible,
                    "missing": [" + ".join(each) for each in missing[:MISSING_MAX]],
                }
                for name, missing, possible in self.kinds()
            },
            "violations": [{"seed": seed, "violation": words} for seed, words in self.violations],
        }

    def lines(self) -> Iterator[str]:
        """All of it for people."""
        yield (
            f"{self.histories:,} histories, {self.steps:,} steps, {self.transitions:,} transitions, "
            f"{self.crashes.total():,} crashes; {self.hits:,} met their aim"
        )
        yield f"foreseen: {self.foreseen:,} turns decided on what was known, {self.refused:,} refused and decided anew"
        yield "faults: " + ", ".join(f"{name} {n:,}" for name, n in sorted(self.faults.items()))
        yield "crashes: " + ", ".join(f"{name} {n:,}" for name, n in sorted(self.crashes.items()))
        for name, missing, possible in self.kinds():
            yield f"coverage of {name}: {possible - len(missing):,} of {possible:,}"
            if missing:
                shown = "; ".join(" + ".join(each) for each in missing[:MISSING_MAX])
                more = f"; and {len(missing) - MISSING_MAX:,} more" * (len(missing) > MISSING_MAX)
                yield f"  missing: {shown}{more}"
        for seed, words in self.violations:
            yield f"seed {seed}: {words}"
        yield f"{len(self.violations)} violations"


def _missing(
    possible: Iterable[tuple[str, ...]], seen: set[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    return [each for each in possible if each not in seen]

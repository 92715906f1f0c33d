"""A deterministic simulation: the real engine under a virtual clock, a seeded scheduler, and every fault there is.

    python -m stateward.testing.simulation --seeds 1000
    python -m stateward.testing.simulation --seed 4711      # one history, step by step

`simulate(seed)` runs one history: submitters, people, coordinators, workers and clocks act in an order that the seed
throws, are killed, stopped and lied to, and are healed; then an independent checker reads the export. A seed replays
exactly. See docs/explanation/simulation.md.
"""

from stateward.testing.simulation.processes import Arena as Arena
from stateward.testing.simulation.run import Report as Report
from stateward.testing.simulation.run import simulate as simulate

"""A deterministic simulation: the real engine under a virtual clock, a seeded scheduler, and every fault there is.

    python -m lab.simulation --seeds 1000
    python -m lab.simulation --seed 4711      # one history, step by step

`simulate(seed)` runs one history: submitters, people, coordinators, workers and clocks act in an order that the seed
throws, are killed, stopped and lied to, and are healed; then an independent checker reads the export. A seed replays
exactly. See docs/explanation/simulation.md.
"""

from lab.simulation.processes import Arena as Arena
from lab.simulation.run import Report as Report
from lab.simulation.run import simulate as simulate

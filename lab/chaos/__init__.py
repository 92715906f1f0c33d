"""Chaos with real processes: kill, stop, cut off, fill the disk, set the clock, under load; then look for damage.

    python -m lab.chaos --rounds 50
    python -m lab.chaos --rounds 5 --only kill-worker,stop-worker --store sqlite --seed 7

`make chaos` runs it and writes what was found into docs/explanation/chaos.md.
"""

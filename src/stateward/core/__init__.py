"""The pure core: what may happen (`machine`) and what does happen (`decide`).

Nothing here reads a clock, a disk, a network, a log or a source of randomness: time and identities are arguments.
That makes every decision repeatable, in a test, in the simulation and when a history is verified years later.
"""

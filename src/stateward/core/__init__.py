"""The pure heart: what may happen and what does happen.

Nothing in here knows a clock, a disk, a network, a log or a die: time and identities are arguments.
"""

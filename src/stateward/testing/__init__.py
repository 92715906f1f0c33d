"""What tests of machines and pipelines are built from: a rig, builders, and the benchmark of an installation.

It may use `app` and everything below; only the command line uses it.
"""

"""Measures what a record costs on this machine: the part of the benchmark that every installation can run.

`jobs` is one measurement and its CPU meter (standard library only, because other systems are measured with it in
environments of their own), `product` is Stateward measured, `rows` runs measurements in fresh processes and makes
rows of them. Hand-written SQL and other systems are measured beside it by `make bench` in a source checkout.
"""

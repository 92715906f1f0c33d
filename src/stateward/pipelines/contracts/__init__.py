"""Contracts: the `contract` machine. Its stages are driven from outside until its runners come."""

from stateward.pipelines import shipped

CONTRACT = shipped(__name__, "machine.yaml")

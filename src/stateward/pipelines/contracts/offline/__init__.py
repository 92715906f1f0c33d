"""The offline extractor: fields of a contract by labels, units, names and layout, each with its evidence.

It is deterministic, asks nobody and knows no single contract: what contracts call things is in the rules, what values
look like is in `spots`, and how a value belongs to a label is in `linking`.
"""

from stateward.pipelines.contracts.offline.extract import OfflineExtractor
from stateward.pipelines.contracts.offline.verticals import detect

__all__ = ["OfflineExtractor", "detect"]

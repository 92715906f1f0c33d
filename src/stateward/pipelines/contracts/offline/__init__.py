"""The offline extractor: fields of a contract by labels, units, names and layout, each with its evidence.

It is deterministic and needs no network. What contracts call things is in the rules, what values look like is in
`candidates`, and how a value belongs to a label is in `linking`.
"""

from stateward.pipelines.contracts.offline.extract import OfflineExtractor
from stateward.pipelines.contracts.offline.vertical_detection import detect

__all__ = ["OfflineExtractor", "detect"]

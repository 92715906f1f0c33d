"""Synthetic contracts with their truth: energy, telco and insurance, in German and English, in many layouts.

`draw` makes one contract from a seed; `write_folder` makes a folder with `truth.json`. The same seed gives the same
bytes. Two makers draw them: `usual` varies labels and layouts of forms, letters and tables; `second` was written
apart from it, after real order confirmations, summaries and certificates, and is what the extractor is measured on.
"""

from lab.documents.contracts.drawn import Contract, draw, write_folder

__all__ = ["Contract", "draw", "write_folder"]

"""Synthetic statements: PDFs made from a seed, with the truth about every row.

`paper` writes plain PDF by hand, `words` holds what banks print in their languages, and `layouts` draws a whole
statement from a seed: its columns, its language, its dates and figures, and the traps that real ones set.
"""

from lab.documents.statements.layouts import Statement, draw
from lab.documents.statements.paper import Paper

__all__ = ["Paper", "Statement", "draw"]

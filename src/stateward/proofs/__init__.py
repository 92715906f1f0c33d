"""What shows to a stranger that a log was not changed: Merkle trees, checkpoints, consistency proofs, time stamps.

A store and a ledger seal their entries by rules of their own (docs/decisions/0029). From there on it is the same: the
hashes are leaves of trees of RFC 6962, the roots are signed texts of C2SP, and one code makes and checks both. Nothing
here knows a database or a ledger directory.
"""

"""Exports of banks as people download them: some forty layouts of fifteen countries, from what the banks publish.

A second set of some eighty (`--further`, in the modules `further_*`) was written later by another author, with XLSX,
OFX, QIF, MT940, CAMT and BAI2 among them. Both were written without looking at the code that reads statements, and are
kept apart from the generator of our own statements, so that their layouts are evidence and not an echo.
`python -m lab.documents.banks FOLDER` writes files with their truth for `stateward eval statements FOLDER`; `--mutate`
changes each layout into one that no bank ever used.
"""

"""Exports of banks as people download them: some forty layouts of fifteen countries, from what the banks publish.

Written without looking at the code that reads statements, and kept apart from the other generator, so that its layouts
are evidence and not an echo. `python -m lab.documents.banks FOLDER` writes files with their truth for
`stateward eval statements FOLDER`; `--mutate` changes each layout into one that no bank ever used.
"""

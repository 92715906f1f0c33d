"""Statements of banks as PDFs: layouts of some forty banks, written from what their real statements look like.

Written without looking at the code that reads statements, and apart from the other generator of PDFs, so that what is
measured with them is evidence and not an echo. `python -m lab.documents.bank_pdfs FOLDER` writes files with their truth
for `stateward eval statements FOLDER`; `--mutate` changes each layout into one that no bank ever used.
"""

"""Lab reports as PDFs, in the layouts of laboratories of twelve countries, with values drawn from a seed.

Written without looking at the code that reads reports. `python -m lab.documents.lab_pdfs FOLDER` writes files with
their truth for `stateward eval labs FOLDER`.
"""

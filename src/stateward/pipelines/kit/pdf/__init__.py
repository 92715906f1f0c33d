"""Text PDFs: characters become words with boxes (`pages`), words become lines (`lines`), lines become text (`text`).

`damage` finds compressed parts that pdfium skips without an error. Nothing here knows what a document is about.
"""

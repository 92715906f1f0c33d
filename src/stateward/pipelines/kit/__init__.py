"""What every document pipeline needs and no single one owns.

- `files`, `encoding`: what a file is by its content, and its text in the right encoding
- `pdf`, `docx`, `documents`, `reader`: text with the place of every character, from PDF, DOCX or plain text
- `ocr`: words with boxes and confidence, from page images
- `delimited`, `spreadsheets`: rows of cells from CSV, TSV, XLSX, XLS and ODS
- `archives`, `xml`: zip and XML from strangers, opened only within limits
- `dates`, `money`: printed dates and amounts as exact values
- `evaluation`: how well a field is read, by ground truth
- `failures`: the codes with which all of these refuse a file

A pipeline may import the kit, `workers.sdk`, `definition` and `core`; the kit knows no pipeline. Parsers are imported
by the modules that use them, so that a command which reads no document does not pay for them; where one is not
installed, the failure names the extra that brings it (`stateward.extras`).
"""

"""Papers that are made up: PDFs with two columns, for samples and tests."""

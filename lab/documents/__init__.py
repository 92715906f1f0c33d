"""Generators of documents with known truth, for tests and evaluation."""

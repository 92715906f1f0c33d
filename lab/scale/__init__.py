"""Backup, verify, retention and the board on a store with millions of finished records."""

"""One SQL layer over two engines (SQLite, PostgreSQL): records, transitions, outputs, keys, sessions, counters."""

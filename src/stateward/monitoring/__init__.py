"""Dashboard queries, gauges and alerts over the store."""

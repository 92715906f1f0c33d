-- A saved view has the order of its list besides the query; empty: the newest first.
ALTER TABLE saved_views ADD COLUMN sort TEXT NOT NULL DEFAULT '';

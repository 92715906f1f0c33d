-- The emails to the administrator and the place of the notifier in the history, under the names that code and
-- documentation use. No other row is touched.
ALTER TABLE letters RENAME TO alerts;
-- SQLite cannot rename an index.
DROP INDEX letters_due;
DROP INDEX letters_sent;
CREATE INDEX alerts_due ON alerts (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alerts_sent ON alerts (sent_at) WHERE sent_at IS NOT NULL;
UPDATE followers SET name = 'notifications' WHERE name = 'notices';

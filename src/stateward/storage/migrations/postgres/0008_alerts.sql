-- The emails to the administrator and the place of the notifier in the history, under the names that code and
-- documentation use. No other row is touched.
ALTER TABLE letters RENAME TO alerts;
ALTER INDEX letters_due RENAME TO alerts_due;
ALTER INDEX letters_sent RENAME TO alerts_sent;
UPDATE followers SET name = 'notifications' WHERE name = 'notices';

-- One writer at a time: the epoch cannot change while a transaction is written.
CREATE VIEW current_epoch AS SELECT max(epoch) AS epoch FROM lanes;

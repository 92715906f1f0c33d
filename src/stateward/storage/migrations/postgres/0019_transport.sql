-- How a worker is reached: empty through this database, else through a transport, by which a relay gives it work.
ALTER TABLE workers ADD COLUMN via text COLLATE "C" NOT NULL DEFAULT '';

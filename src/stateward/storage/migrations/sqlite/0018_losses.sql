-- Evidence about the worker that has the work: '' or, as JSON, the loss that counts if that worker or its child dies.
ALTER TABLE work ADD COLUMN loss TEXT NOT NULL DEFAULT '';

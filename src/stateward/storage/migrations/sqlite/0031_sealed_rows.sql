-- No table changes. From here on an act seals the rows that it leaves in force, and the first transition says a priority: an
-- older version, which does neither, must not write to this store any more, and its number tells it so.
SELECT 31;

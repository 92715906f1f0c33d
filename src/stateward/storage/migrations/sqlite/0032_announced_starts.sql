-- No table changes. From here on a coordinator announces its start in the audit log before it counts it, and the end of an
-- attempt seals its output as a whole: an older version, which does neither, must not write to this store any more.
SELECT 32;

-- Since when a record had a key that others had before or after it; 0: not known, or always. With until_us it says whose a late event is.
ALTER TABLE link ADD COLUMN since_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deleted_link ADD COLUMN since_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE former_owner ADD COLUMN since_us INTEGER NOT NULL DEFAULT 0;
-- Of keys that several records had: the first request that names the key in the history of the record, or of the one that it is part of.
UPDATE link SET since_us = COALESCE((
  SELECT min(e.occurred_us) FROM event e WHERE e.client = link.client AND e.record_kind = link.record_kind
  AND e.record_id = link.record_id
  AND e.via = 0 AND lower(e.detail) LIKE '%' || link.object_id || '%'), 0)
WHERE tool = '' AND (EXISTS (SELECT 1 FROM former_owner o WHERE o.client = link.client AND o.object_type = link.object_type
    AND o.object_id = link.object_id)
  OR EXISTS (SELECT 1 FROM deleted_link o WHERE o.client = link.client AND o.tool = '' AND o.object_type = link.object_type
    AND o.object_id = link.object_id));
UPDATE deleted_link SET since_us = COALESCE((
  SELECT min(e.occurred_us) FROM event e WHERE e.client = deleted_link.client AND e.record_kind = deleted_link.record_kind
  AND e.record_id = deleted_link.record_id
  AND e.via = 0 AND lower(e.detail) LIKE '%' || deleted_link.object_id || '%'), 0)
WHERE tool = '' AND (EXISTS (SELECT 1 FROM link o WHERE o.client = deleted_link.client AND o.tool = '' AND o.object_type = deleted_link.object_type
    AND o.object_id = deleted_link.object_id)
  OR EXISTS (SELECT 1 FROM former_owner o WHERE o.client = deleted_link.client AND o.object_type = deleted_link.object_type
    AND o.object_id = deleted_link.object_id)
  OR EXISTS (SELECT 1 FROM deleted_link o WHERE o.client = deleted_link.client AND o.tool = '' AND o.object_type = deleted_link.object_type
    AND o.object_id = deleted_link.object_id AND o.record_id <> deleted_link.record_id));
UPDATE former_owner SET since_us = COALESCE((
  SELECT min(e.occurred_us) FROM event e WHERE e.client = former_owner.client AND e.record_kind = former_owner.record_kind
  AND e.record_id = COALESCE((SELECT l.record_id FROM link l WHERE l.client = former_owner.client AND l.tool = ''
    AND l.object_type = CASE former_owner.record_kind WHEN 1 THEN 'contact' ELSE 'company' END AND l.object_id = CAST(former_owner.record_id AS TEXT)), former_owner.record_id)
  AND e.via = 0 AND lower(e.detail) LIKE '%' || former_owner.object_id || '%'), 0)
WHERE EXISTS (SELECT 1 FROM link o WHERE o.client = former_owner.client AND o.tool = '' AND o.object_type = former_owner.object_type
    AND o.object_id = former_owner.object_id)
  OR EXISTS (SELECT 1 FROM former_owner o WHERE o.client = former_owner.client AND o.object_type = former_owner.object_type
    AND o.object_id = former_owner.object_id AND o.record_id <> former_owner.record_id)
  OR EXISTS (SELECT 1 FROM deleted_link o WHERE o.client = former_owner.client AND o.tool = '' AND o.object_type = former_owner.object_type
    AND o.object_id = former_owner.object_id);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('former_owner', 'former_owner', '10000 1000 500 2 1 1'),
  ('former_owner', 'former_owner_record', '10000 1000 500 2');
ANALYZE sqlite_schema;
--:both

-- Which call one with equal bytes came after, whether all that a call says has a time or an id of its own, and what went wrong
-- with what was applied (domain/problems.py). NULL for what is older.
ALTER TABLE delivery ADD COLUMN twin INTEGER;
ALTER TABLE delivery ADD COLUMN dated INTEGER;
ALTER TABLE delivery ADD COLUMN problems TEXT;
CREATE INDEX delivery_problems ON delivery (client, id) WHERE problems IS NOT NULL;

-- Who made a client: an administrator, or the first call that named it. NULL: older, and not known.
ALTER TABLE client ADD COLUMN made_by TEXT;
UPDATE client SET made_by = 'administrator' WHERE name <> '';

-- Whether other calls came after one with equal bytes.
ALTER TABLE recent_call ADD COLUMN twin INTEGER;
CREATE INDEX recent_call_received ON recent_call (client, received_us);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('delivery', 'delivery_problems', '10000 1000 1'),
  ('recent_call', 'recent_call', '1000000 100000 1'),
  ('recent_call', 'recent_call_received', '1000000 100000 2');

-- What a delivery that changed nothing looks like (domain/shape.py), so that a million of them can be shown as a few
-- groups. NULL: applied at once, or marked before shapes were kept.
ALTER TABLE delivery ADD COLUMN shape text;
CREATE INDEX delivery_shape ON delivery (client, state, channel, tool, shape, received_us)
  WHERE state IN ('parked', 'unrecognised', 'failed');
CREATE INDEX delivery_oldest ON delivery (state, received_us) WHERE state IN ('parked', 'unrecognised', 'failed');

-- Links whose object nobody has named yet, by the place where its events wait.
CREATE INDEX link_waiting ON link (client, id) WHERE record_id IS NULL;

-- Bodies of calls that nobody understood and nothing verified: found by age, and their size added up, without the table.
CREATE INDEX delivery_unproven ON delivery (client, id, size, received_us)
  WHERE state = 'unrecognised' AND body_gone IS NULL AND (verified IS NULL OR verified = 0);

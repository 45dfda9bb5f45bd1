"""`touchbase verify`: derived values recomputed from the stored events."""

"""Small mechanisms that know nothing of records: times, caches, token buckets, encodings."""

"""Small mechanisms without knowledge of records: times, caches, buckets, encodings."""

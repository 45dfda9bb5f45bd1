"""Archive of change events: a Parquet file of a client's events a month, in object storage."""

"""The PostgreSQL engine (14 and later): one set-based statement for a batch, several batches at the same time."""

"""The SQLite engine: one file, one connection that writes, several that read."""

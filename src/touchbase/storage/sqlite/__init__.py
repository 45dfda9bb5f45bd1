"""SQLite: one file, one connection that writes, several that read."""

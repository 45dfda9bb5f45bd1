"""SQLite: one file, one connection that writes on its own thread, several that read."""

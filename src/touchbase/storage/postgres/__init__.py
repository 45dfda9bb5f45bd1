"""PostgreSQL 14 and later: one set-based statement for a group, several groups in flight."""

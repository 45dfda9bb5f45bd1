"""SQL without an engine: statements, plans, ids, migrations."""

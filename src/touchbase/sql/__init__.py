"""Engine-independent SQL: statements, plans, ids, migrations."""

"""CRMs: one folder each."""

"""SQL of searches, and of the full-text index."""

"""SQL of merges by request: statements and plans."""

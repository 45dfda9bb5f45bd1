"""SQL of the bin: statements and plans."""

"""SQL of company links: statements and plans."""

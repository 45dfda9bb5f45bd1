"""SQL of reports: plans."""

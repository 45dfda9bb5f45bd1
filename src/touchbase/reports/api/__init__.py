"""HTTP resources of reports."""

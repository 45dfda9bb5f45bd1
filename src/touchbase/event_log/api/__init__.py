"""HTTP resources of the event log."""

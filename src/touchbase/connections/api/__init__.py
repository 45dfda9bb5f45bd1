"""HTTP resources of connections."""

"""HTTP resources of messages."""

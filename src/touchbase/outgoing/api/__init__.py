"""HTTP resources of outgoing webhooks."""

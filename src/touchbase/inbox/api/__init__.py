"""HTTP resources of the inbox: webhooks in, deliveries, refused webhooks."""

"""HTTP resources of the inbox: webhook receivers, deliveries, refused webhooks."""

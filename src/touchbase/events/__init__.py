"""Processing deliveries: events, identity resolution and the projection of records."""

"""Projection: deliveries become events, and events become records, in one transaction."""

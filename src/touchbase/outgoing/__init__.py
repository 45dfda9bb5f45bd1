"""Outgoing webhooks: endpoints that get a client's events, signed, in order, at least once."""

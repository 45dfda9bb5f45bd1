"""Stored webhooks: type, limits, states, and the plans that read and mark them."""

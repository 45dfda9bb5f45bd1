"""Stored webhooks: their type, limits and states, and what reads and marks them."""

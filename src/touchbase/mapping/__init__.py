"""Saved mappings: a connection's settings that say how to read stored webhooks, each save one change that can be reverted."""

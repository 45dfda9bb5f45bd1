"""Shared code of adapters: parsing webhooks, reading times and values, naming events."""

"""Woodpecker."""

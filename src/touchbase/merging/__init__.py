"""Merges by request: preview, merge, undo."""

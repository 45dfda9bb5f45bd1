"""Attio."""

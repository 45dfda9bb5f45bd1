"""Snov.io."""

"""Erasure and export of a person's data."""

"""Amplemarket."""

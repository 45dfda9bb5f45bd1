"""Insightly."""

"""Copper."""

"""Touchbase: a self-hosted revenue-operations data service."""

__version__ = "0.1.0"

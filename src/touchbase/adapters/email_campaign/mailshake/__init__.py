"""Mailshake."""

"""Postmark."""

"""Outreach."""

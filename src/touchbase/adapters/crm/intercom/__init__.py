"""Intercom."""

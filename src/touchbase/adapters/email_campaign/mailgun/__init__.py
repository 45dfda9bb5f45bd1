"""Mailgun."""

"""Mailjet."""

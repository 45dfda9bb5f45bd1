"""Brevo."""

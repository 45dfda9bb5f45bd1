"""Received webhooks: stored raw, listed, refused, redacted."""

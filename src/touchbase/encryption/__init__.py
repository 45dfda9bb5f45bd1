"""Encryption at rest: keys, and the cipher for secrets."""

"""Retention: prune old bodies and continue interrupted erasures."""

"""Retention: old bodies and finished erasure searches."""

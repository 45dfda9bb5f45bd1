"""Capsule."""

"""Affinity."""

"""Streak."""

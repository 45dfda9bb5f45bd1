"""Salesloft."""

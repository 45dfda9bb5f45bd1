"""Pipedrive."""

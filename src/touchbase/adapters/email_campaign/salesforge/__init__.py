"""Salesforge."""

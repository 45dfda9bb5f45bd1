"""Connections: a client's tools, their secrets and settings."""

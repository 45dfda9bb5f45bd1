"""Connections: the tools of a client with their secrets, settings and fetch queue."""

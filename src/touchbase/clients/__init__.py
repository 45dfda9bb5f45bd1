"""Clients: the organisations that records belong to, their settings and their life."""

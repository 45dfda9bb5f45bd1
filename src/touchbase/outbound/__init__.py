"""Calls that we make: to the APIs of tools, at public addresses only."""

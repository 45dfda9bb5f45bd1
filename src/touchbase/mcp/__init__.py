"""Tools for agents over the Model Context Protocol: requests to the HTTP interface, with the scopes of the caller's key.

Facts of the protocol are from its specifications of 2024-11-05 to 2026-07-28.
"""

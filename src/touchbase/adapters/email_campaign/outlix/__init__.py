"""Outlix."""

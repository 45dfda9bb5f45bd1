"""Mandrill."""

"""Kommo, once amoCRM."""

"""Dynamics 365."""

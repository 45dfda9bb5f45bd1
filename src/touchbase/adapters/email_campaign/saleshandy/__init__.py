"""Saleshandy."""

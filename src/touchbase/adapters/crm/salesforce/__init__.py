"""Salesforce."""

"""Contacts and companies: models, rules, SQL and API."""

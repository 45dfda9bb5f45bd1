"""Zoho CRM."""

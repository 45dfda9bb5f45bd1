"""Fetching records that thin webhooks only name."""

"""Enrichment: fetch the records that thin webhooks only name."""

"""Adapters: one folder per tool, each turning its webhooks into events."""

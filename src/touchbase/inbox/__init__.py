"""Inbox: received webhooks, stored raw; redaction, signature check, dedupe, retention and refused webhooks."""

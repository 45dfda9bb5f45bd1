"""Identity: which record an event is about, whatever order webhooks come in."""

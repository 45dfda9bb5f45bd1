"""`Idempotency-Key`: stored responses of POST requests."""

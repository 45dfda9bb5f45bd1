"""Rate limits of clients and keys."""

"""API keys: authentication, scopes, and their life cycle."""

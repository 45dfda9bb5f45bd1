"""API keys, and who may call."""

"""SQL of outgoing webhooks: statements and plans."""

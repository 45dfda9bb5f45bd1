"""Reply.io."""

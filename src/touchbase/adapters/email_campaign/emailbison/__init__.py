"""EmailBison."""

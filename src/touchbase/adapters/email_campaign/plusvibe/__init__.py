"""PlusVibe."""

"""monday.com."""

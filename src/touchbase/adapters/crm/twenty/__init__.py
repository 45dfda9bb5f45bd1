"""Twenty."""

"""What we take from others: whether it has known holes, and the list of it."""

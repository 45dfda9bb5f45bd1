"""Attention list: problems that a person must solve, over all clients that a user may see."""

"""Hashes of erased people that must not come back."""

"""Suppression: hashes of erased persons, so that their data does not return."""

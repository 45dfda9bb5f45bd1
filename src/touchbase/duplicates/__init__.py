"""Duplicates: pairs of records that may be one person or one company, with a score."""

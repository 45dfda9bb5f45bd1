"""lemlist."""

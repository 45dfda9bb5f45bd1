"""folk."""

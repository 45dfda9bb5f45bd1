"""Close."""

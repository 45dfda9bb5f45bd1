"""Live changes: notices of what changed, for the pages that people look at."""

"""E-mail campaign tools: one folder each."""

"""HTTP resources of clients and their settings."""

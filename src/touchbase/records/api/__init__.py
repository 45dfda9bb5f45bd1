"""HTTP resources of contacts and companies."""

"""Tasks of the team about contacts and companies."""

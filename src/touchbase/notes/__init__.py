"""Notes of the team on contacts and companies."""

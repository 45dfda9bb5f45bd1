"""The bin: deleting contacts and companies, and restoring them."""

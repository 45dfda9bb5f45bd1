"""Search: filters, sorting and full text over contacts and companies."""

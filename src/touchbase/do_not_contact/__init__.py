"""Do-not-contact lists: addresses that must not be contacted, for each client and for the whole installation."""

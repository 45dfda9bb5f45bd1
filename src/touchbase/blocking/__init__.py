"""Block a contact: the do-not-contact list and the status in one act."""

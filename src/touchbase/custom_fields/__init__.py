"""Custom fields as a resource of a client: list, define, type, rename, merge and remove; and values to respell."""

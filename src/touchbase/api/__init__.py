"""HTTP in and out: the interface's four calls, reading and changing records, the admin calls, the description."""

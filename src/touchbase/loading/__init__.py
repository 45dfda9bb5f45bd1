"""First loads: a campaign tool's history from before its connection, through its API."""

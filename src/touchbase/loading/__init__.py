"""First loads: what a campaign tool knows from before it was connected, through its API."""

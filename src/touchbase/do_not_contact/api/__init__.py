"""HTTP resources of the do-not-contact lists."""

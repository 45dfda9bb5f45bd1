"""HTTP resources of the calls of the RevyOps API."""

"""HTTP resources of merges, duplicates and the bin."""

"""SQL of statuses: plans of the declared set, renames and merges, and refused words."""

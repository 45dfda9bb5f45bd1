"""HTTP resources of custom fields."""

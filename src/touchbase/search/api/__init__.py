"""HTTP resources of searches: filtered lists, and `POST .../search`."""

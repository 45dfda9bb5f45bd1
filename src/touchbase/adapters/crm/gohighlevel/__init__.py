"""GoHighLevel."""

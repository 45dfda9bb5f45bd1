"""Bodies of webhooks in object storage: the bucket, encryption, and the worker that moves and removes them."""

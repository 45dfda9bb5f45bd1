"""SQL of the do-not-contact lists."""

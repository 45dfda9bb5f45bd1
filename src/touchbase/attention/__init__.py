"""What needs a person, over all clients that somebody may see."""

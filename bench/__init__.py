"""What Touchbase does on this machine, beside the limits that it is held to: `python -m bench`."""

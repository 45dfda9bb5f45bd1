"""EspoCRM."""

"""Live changes: notices for open pages."""

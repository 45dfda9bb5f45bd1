"""SendPilot."""

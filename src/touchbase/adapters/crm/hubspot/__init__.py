"""HubSpot."""

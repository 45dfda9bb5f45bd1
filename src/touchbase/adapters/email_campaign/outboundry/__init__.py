"""Outboundry."""

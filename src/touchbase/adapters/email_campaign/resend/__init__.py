"""Resend."""

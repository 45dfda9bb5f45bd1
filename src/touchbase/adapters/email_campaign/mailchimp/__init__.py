"""Mailchimp."""

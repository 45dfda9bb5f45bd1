"""Notifications: what a person wants to know, in the console and by e-mail."""

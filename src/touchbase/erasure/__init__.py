"""Erasing a person, and exporting what is stored about one."""

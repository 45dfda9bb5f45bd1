"""Routing: one store over the cells of an installation."""

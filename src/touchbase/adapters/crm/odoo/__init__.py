"""Odoo."""

"""Frappe: its CRM and ERPNext."""

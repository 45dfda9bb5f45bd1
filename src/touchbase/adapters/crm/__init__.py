"""CRM adapters: one folder per tool."""

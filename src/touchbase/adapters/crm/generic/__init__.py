"""Any other CRM."""

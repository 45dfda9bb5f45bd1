"""Generic CRM adapter: any other CRM."""

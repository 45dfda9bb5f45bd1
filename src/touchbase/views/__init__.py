"""Views: filters, order, columns and layout of a list of records under a name."""

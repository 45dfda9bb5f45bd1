"""Search of records: filters, sorting, full text and counts, for contacts and companies on both engines."""

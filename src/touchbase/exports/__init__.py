"""Export: records as CSV and NDJSON."""

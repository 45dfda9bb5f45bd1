"""Import: rows of files, their columns, their checks, and the report."""

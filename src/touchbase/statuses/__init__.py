"""Statuses of contacts and companies as resources: declared sets, renames and merges, with the jobs that rewrite records."""

"""Exports: records as files of CSV, NDJSON or Parquet, streamed or as a job."""

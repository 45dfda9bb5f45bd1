"""SparkPost."""

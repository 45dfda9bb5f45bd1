"""One module for each fault; each has `run(plan, engine)`, which adds a row to the report."""

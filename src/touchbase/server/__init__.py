"""The HTTP server around the application: uvicorn with deadlines and limits, logs, metrics and health."""

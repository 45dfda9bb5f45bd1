"""The HTTP server around the application: uvicorn with deadlines and bounds, logs, metrics and health."""

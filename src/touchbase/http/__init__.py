"""The HTTP API: routing, requests, responses, problems and OpenAPI."""

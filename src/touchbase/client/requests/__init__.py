"""A function for each operation, which makes its request and sends nothing. Made by `make docs` from the OpenAPI document."""

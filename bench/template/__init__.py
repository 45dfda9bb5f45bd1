"""What people would write instead: FastAPI and SQLModel with a session for each request. Only `bench.compare` runs it."""

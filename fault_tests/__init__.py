"""Fault tests: kill, stop and starve real servers under load, then check that no acknowledged write is lost or applied twice."""

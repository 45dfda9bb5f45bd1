"""Survival: real servers that are killed, stopped and starved under load, and what is there afterwards."""

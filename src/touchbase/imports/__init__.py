"""Imports: files of contacts and companies, read, mapped, checked and written by a job."""

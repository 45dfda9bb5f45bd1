"""Cells: clients of one installation in several stores, and the directory of which lives where."""

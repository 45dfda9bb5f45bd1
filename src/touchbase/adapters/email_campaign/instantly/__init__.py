"""Instantly."""

"""Answers to replies, sent through the APIs of the tools."""

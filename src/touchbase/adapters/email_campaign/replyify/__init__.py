"""Replyify."""

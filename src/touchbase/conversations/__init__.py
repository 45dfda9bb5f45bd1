"""Conversations: the messages with one contact, as a team works through its replies."""

"""Relay: passes the events of a client's log on to a file, an HTTP receiver or a queue, in order, each at least once."""

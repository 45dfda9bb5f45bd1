"""The event log: every change of a client's data, written in the transaction of the change, and read as a feed."""

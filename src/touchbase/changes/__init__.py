"""Changes and their reverts: what a request or job changed goes back to the values of the log, except what has changed since."""

"""SQL of the event log: statements and plans, for the engines and for plans of packages above."""

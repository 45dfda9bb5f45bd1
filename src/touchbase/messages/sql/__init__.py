"""SQL of messages: statements and plans, for the engines and for plans of packages above."""

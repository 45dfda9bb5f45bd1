"""SQL of connections: statements, row mapping and plans, for the engines and for plans of packages above."""

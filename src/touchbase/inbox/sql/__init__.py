"""SQL of inbox: statements, row mapping and plans, for the engines and for plans of packages above."""

"""Demo: recorded calls of a fictitious agency's tools, replayed into a store."""

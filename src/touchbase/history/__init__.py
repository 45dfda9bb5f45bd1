"""A record's history: events, identity links, status rules, last writer wins."""

"""Records, rules, events, errors and ports: what Touchbase means, free of web, SQL and clocks."""

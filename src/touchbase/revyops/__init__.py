"""The calls of the RevyOps API, for programs that were written against it: what Touchbase's own routes do not have."""

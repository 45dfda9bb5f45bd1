"""The calls of the RevyOps API that Touchbase's own routes do not have, for programs written against it."""

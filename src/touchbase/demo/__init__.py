"""A store full of fictitious data, to try Touchbase with: an agency with 12 clients and three weeks of calls of eight tools."""

"""What adapters share: parsing a call, reading times and values, naming what was read."""

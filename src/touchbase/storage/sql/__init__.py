"""What every SQL engine shares: statements, plans made of them, and the commands and queries they carry out."""

"""Sealing: secrets encrypted where they are kept, with a master key that is not kept beside them."""

"""Sealing: secrets encrypted where they are kept, with an encryption key that is not kept beside them."""
